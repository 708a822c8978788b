"""A tiny random policy with a byte tokenizer in a folder, little problems, and a server that knows some answers."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tiny_trainer import byte_tokenizer, tiny_llama

from bot_grpo.backends import Sampling
from bot_grpo.eval_hf import HFBackend
from bot_grpo.eval_tasks import messages
from bot_grpo.evaluate import EvalDir, Problem, Request, requests

sys.path.append(str(Path(__file__).parents[1] / "sandbox"))


def save_policy(folder: Path, *, template: str | None = None) -> Path:
    """Two layers, a context of 128 bytes."""
    tiny_llama(tied=False).save_pretrained(folder)
    tokenizer = byte_tokenizer()
    tokenizer.chat_template = template
    tokenizer.save_pretrained(folder)
    return folder


def problems(n: int = 5) -> list[Problem]:
    """Of different lengths; the answer is 7 times the number."""
    return [
        Problem(
            f"p{i}", messages(f"{i} times 7{'?' * (3 * i % 7)}", None), f"{i} times 7", {"answer": 7 * i}, str(7 * i)
        )
        for i in range(n)
    ]


def write_problems(file: Path, n: int = 5) -> Path:
    rows = [{"id": f"p{i}", "problem": f"What is {i} times 7?", "answer": 7 * i} for i in range(n)]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def settings(**changes: Any) -> dict[str, Any]:
    """What an EvalDir is begun with."""
    return {"task": "aime", "data": "little", "model": "tiny", "seed": 0, "temperature": 0.8} | changes


def hf(folder: Path, *, batch_size: int = 6, **sampling: Any) -> HFBackend:
    given = {"temperature": 0.8, "top_p": 0.9, "max_tokens": 10} | sampling
    return HFBackend(str(folder), Sampling(**given), batch_size=batch_size)


def begin(folder: Path, asked: Sequence[Problem], n: int) -> tuple[EvalDir, list[Request]]:
    run = EvalDir(folder)
    run.begin(settings(), asked, n)
    return run, requests(asked, n, 0)


def knows(body: dict[str, Any]) -> str:
    """A server's answer: right for two of three seeds, without a box for some of the others."""
    number = int(re.search(r"(\d+) times 7", body["messages"][-1]["content"])[1])  # type: ignore[index]
    seed = body["seed"]
    if seed % 3:
        return f"Well, {number} times 7 is \\boxed{{{7 * number}}}."
    return "I do not know." if seed % 2 else "\\boxed{999}"
