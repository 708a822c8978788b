"""`bot-grpo VERB ...`: a table of verbs, each in a file of its own with `main(argv) -> int`.

A verb's module is imported only when it is asked for, so that `bot-grpo sandbox` never waits for torch.
"""

from __future__ import annotations

import difflib
import importlib
import os
import sys

VERBS = {
    "train": "train a model on a task with token-level rewards",
    "eval": "sample a model on AIME or on React prompts: Pass@k with intervals",
    "regrade": "grade the samples of an evaluation again, with no model",
    "compare": "train algorithms over seeds, and compare them",
    "watch": "show a run in the terminal while it goes on",
    "report": "write report.html for a run",
    "export": "write a trained model as a folder with a card, and push it to the hub",
    "new-reward": "write a reward model to begin with",
    "check-reward": "say whether a reward model keeps to what every one has to",
    "train-reward": "learn a reward model from labelled completions",
    "audit": "say whether reward models are bounded, stable, tied to success and hard to game",
    "score": "score replies with reward models, without training",
    "sandbox": "compile and render React components, one verdict a line",
    "judge": "compare runs by their pages: win rates and rankings, by a model or by rules",
    "algorithms": "list the algorithms: equation, defaults, source, departures",
    "bench": "measure a training step, its memory and sampling on a GPU",
    "env": "print versions and what works on this machine",
}


def _usage() -> str:
    width = max(map(len, VERBS))
    lines = ["usage: bot-grpo VERB [options]", "", "verbs:"]
    lines += [f"  {verb:<{width}}  {text}" for verb, text in VERBS.items()]
    return "\n".join([*lines, "", "`bot-grpo VERB --help` shows the options of a verb and an example."])


def main(argv: list[str] | None = None) -> int:
    """Run one verb. Exit codes: 0 done, 1 finished with a failure, 2 bad input (one line on stderr), 130 Ctrl-C.

    Of `watch` and `report --serve` Ctrl-C is the ordinary end: 0.
    """
    argv = sys.argv[1:] if argv is None else argv
    if not argv or argv[0] in {"-h", "--help", "help"}:
        print(_usage())
        return 0
    verb, *rest = argv
    if verb == "--version":
        from bot_grpo import __version__

        print(f"bot-grpo {__version__}")
        return 0
    if verb not in VERBS:
        close = difflib.get_close_matches(verb, VERBS, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else f"; there are: {', '.join(VERBS)}"
        print(f"bot-grpo: no verb {verb!r}{hint}", file=sys.stderr)
        return 2
    return _run(verb, rest)


def _run(verb: str, argv: list[str]) -> int:
    from bot_grpo.errors import UserError
    from reward_models.errors import RewardError
    from sandbox.errors import SetupError
    from tasks.errors import TaskError

    module = importlib.import_module(f"bot_grpo.cli.{verb.replace('-', '_')}")
    try:
        return int(module.main(argv))
    except (UserError, RewardError, SetupError, TaskError) as error:
        print(f"bot-grpo {verb}: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # `bot-grpo ... | head`: the reader has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print(f"\nbot-grpo {verb}: stopped", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
