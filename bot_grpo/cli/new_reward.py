"""`bot-grpo new-reward`: a reward model of one's own to begin with."""

from __future__ import annotations

import argparse
import keyword
import re
from pathlib import Path

from bot_grpo.cli.parser import Parser
from bot_grpo.errors import UserError
from bot_grpo.invoked import program

_TEMPLATE = Path(__file__).resolve().parent.parent / "templates" / "new_reward.py.txt"


def main(argv: list[str]) -> int:
    parser = Parser(
        prog="bot-grpo new-reward",
        description="Write a reward model that works, about twenty lines to edit. No file is ever written over.",
        epilog="example:\n  bot-grpo new-reward short-lines",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", metavar="NAME", help="what it is to be called: short-lines, ShortLines")
    parser.add_argument("--output", type=Path, metavar="FILE", help="where to write it (default: short_lines.py)")
    args = parser.parse_args(argv)
    words = re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])", args.name)
    class_name = "".join(word[0].upper() + word[1:] for word in words)
    if not re.fullmatch(r"[\w -]+", args.name) or not class_name.isidentifier() or keyword.iskeyword(class_name):
        raise UserError(f"{args.name!r} is no name for a reward model: take letters and digits, such as short-lines")
    target: Path = args.output or Path("_".join(word.lower() for word in words) + ".py")
    if target.suffix != ".py":
        raise UserError(f"{target} must end in .py")
    text = _TEMPLATE.read_text(encoding="utf-8").replace("CLASS_NAME", class_name)
    try:
        with target.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise UserError(f"{target} is there already, and is left as it is; choose another --output") from None
    except OSError as error:
        raise UserError(f"cannot write {target}: {error.strerror}") from error
    name = f"{target}:{class_name}"
    print(f"wrote {target}; edit it, then")
    print(f"  check it:         {program()} check-reward {name}")
    print(f"  score with it:    {program()} score --reward {name} --input replies.jsonl --html scores.html")
    print(f"  train against it: {program()} train --config react-smollm2-cpu --rewards {name}")
    return 0
