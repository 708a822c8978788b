"""`bot-grpo train` with a STUB in place of the sampler, which writes components: a tiny random policy writes none.

Compiling, rendering, screenshots, rewards, the step and the trackers are the real ones. `python track_run.py ARGV...`;
with $TRACK_RUN_PAUSE sampling takes so many seconds longer.
"""

from __future__ import annotations

import os
import sys
import time
from typing import Any

import bot_grpo.trainer
from bot_grpo.cli import main

WRITTEN = (
    "```tsx\nexport default function App() {\n  return <h1 style={{color: 'teal'}}>Hello {1 + 1}</h1>\n}\n```",
    "```tsx\nexport default function App() {\n  return <button>Press | me</button\n}\n```",
    "No component at all, <b>only</b> *words*.",
)


class WrittenSampler:
    """A STUB of `GroupRollouts`: gives the texts of `WRITTEN` by turns."""

    def __call__(self, prompts: list[Any], trainer: Any) -> dict[str, Any]:
        time.sleep(float(os.environ.get("TRACK_RUN_PAUSE", "0")))
        tokenizer = trainer.processing_class
        ids = trainer._tokenize_prompts(prompts)[0]
        texts = [WRITTEN[i % len(WRITTEN)] for i in range(len(prompts))]
        written = [[*tokenizer(text)["input_ids"], tokenizer.eos_token_id] for text in texts]
        return {"prompt_ids": ids, "completion_ids": written, "logprobs": None}


if __name__ == "__main__":
    bot_grpo.trainer.GroupRollouts = WrittenSampler  # type: ignore[misc]
    sys.exit(main(["train", *sys.argv[1:]]))
