"""Local rewards from a token classifier that `bot-grpo train-reward` made: how likely each step, or token, is wrong.

The folder holds the classifier, its tokenizer and reward_model.json (`Settings`). For a step the score is read where
the step ends, when all of it has been read, and for the last one after the end of the text.
"""

from __future__ import annotations

import json
import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from itertools import accumulate
from operator import mul
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import AutoModelForTokenClassification

from reward_models.base import Answer, RewardSignal, Rollout, Span, Unscored
from reward_models.calibration import probability
from reward_models.errors import RewardError
from reward_models.pretrained import batches, check_dtype, load_tokenizer, load_weights, padded
from reward_models.reading import Read, Reader
from reward_models.step_text import SplitError, Step, check_split, problem_of, split_steps

FILE = "reward_model.json"
WRONG_CLASS, RIGHT_CLASS = 0, 1
"""Classes of the classifier, as in TRL's process reward models."""


@dataclass(frozen=True)
class Settings:
    """How a classifier is fed and read; reward_model.json.

    `shift` is taken off the log-odds of wrong: the loss weighs the rare class up by as much. The temperatures divide
    what is left, at each token and where steps end.
    """

    template: str
    max_tokens: int
    split: str
    shift: float
    token_temperature: float
    step_temperature: float

    def write(self, folder: Path) -> None:
        (folder / FILE).write_text(json.dumps(asdict(self), indent=2) + "\n", encoding="utf-8")

    @classmethod
    def read(cls, folder: str) -> Settings:
        """Raises RewardError."""
        path = Path(folder) / FILE
        try:
            return cls(**json.loads(path.read_text(encoding="utf-8")))
        except OSError as error:
            raise RewardError(f"{folder} holds no {FILE}: name a folder that `bot-grpo train-reward` wrote") from error
        except (ValueError, TypeError) as error:
            raise RewardError(f"{path} is not what `bot-grpo train-reward` writes: {error}") from error


@dataclass
class LearnedReward:
    """Scores completions with a token classifier.

    Args:
        model: the folder.
        per: what gets one value: a "step" (in code: a line; see `split`), or a "token" of the classifier.
        mode: what it gets, from the calibrated probabilities p of being right. "first": minus the chance that the first
            mistake is there, (1 - p) times the p of all steps before: what a penalty of 1 on it comes to on average.
            "penalty": p - 1. "centred": 2p - 1.
        outcome: also give an outcome G: the "product" of the steps' p, which is the chance that none is wrong where the
            model was taught only up to the first mistake, or their "min"; "none": local rewards alone.
        split: how steps are found (`step_text.split_steps`); None: as in training.
        max_tokens: how long an input may be; None: as in training.
        too_long: "window" scores what fits, and the rest gets 0; "unscored" leaves the rollout out.
        batch_tokens: tokens in one forward pass, padding included; None: 16,384 on a GPU, 2,048 on a CPU.
        dtype, device: of the weights: auto (as they are), float32, bfloat16, float16; None is a GPU if there is one.

    Raises:
        RewardError: a setting that is none, or a folder that holds no such model.
    """

    model: str
    per: str = "step"
    mode: str = "first"
    outcome: str = "none"
    split: str | None = None
    max_tokens: int | None = None
    too_long: str = "window"
    batch_tokens: int | None = None
    dtype: str = "auto"
    device: str | None = None
    bound: float = field(default=1.0, init=False)
    spread: str = field(default="every", init=False)

    def __post_init__(self) -> None:
        for name, there in _CHOICES.items():
            if getattr(self, name) not in there:
                raise RewardError(f"{name} is one of {', '.join(there)}, not {getattr(self, name)!r}")
        check_dtype(self.dtype)
        self._settings = Settings.read(self.model)
        self._split = self._settings.split if self.split is None else self.split
        check_split(self._split)
        limit = self.max_tokens or self._settings.max_tokens
        self._read = reader(load_tokenizer(self.model), self._settings.template, limit)
        self._limit = limit
        self._model = load_weights(AutoModelForTokenClassification, self.model, dtype=self.dtype, device=self.device)

    def score(self, rollouts: Sequence[Rollout]) -> list[Answer]:
        """One answer a rollout, in their order."""
        reads = [self._read(problem_of(r), r.completion) for r in rollouts]
        known = wrong_logits(self._model, (read for read in reads if read.spans), self.batch_tokens)
        return [self._answer(rollout, read, known.get(read)) for rollout, read in zip(rollouts, reads, strict=True)]

    def _answer(self, rollout: Rollout, read: Read, z_T: NDArray[np.float64] | None) -> Answer:
        text, spans, cut = rollout.completion, read.spans, read.cut
        if cut and (not spans or self.too_long == "unscored"):
            return Unscored(f"problem and completion do not fit into {self._limit} tokens")
        z_T = np.zeros(0) if z_T is None else z_T - self._settings.shift
        if not np.isfinite(z_T).all():
            return Unscored("a score of the model is not a number")
        try:
            steps = split_steps(text, self._split)
        except SplitError as error:
            return Unscored(str(error))
        at = step_places(read, steps, len(text))
        right = probability(-z_T[[i for i in at if i is not None]] / self._settings.step_temperature).tolist()
        places, p = [(s.start, s.end) for s, i in zip(steps, at, strict=True) if i is not None], right
        if self.per == "token":
            places = [(a, b) for a, b in spans if a < b]
            p_T = probability(-z_T / self._settings.token_temperature).tolist()
            p = [x for x, (a, b) in zip(p_T, spans, strict=True) if a < b]
        # The chance that all steps before are right, as of a step's end.
        ends, before = [s.end for s, i in zip(steps, at, strict=True) if i is not None], [1.0, *accumulate(right, mul)]
        value = _MODES[self.mode]
        return RewardSignal(
            outcome=_OUTCOMES[self.outcome](right),
            spans=tuple(
                Span(a, b, value(x, before[bisect_right(ends, a)]), f"p = {x:.3f}")
                for (a, b), x in zip(places, p, strict=True)
            ),
            metrics={
                "learned/too_long": float(cut),
                **({"learned/mean": math.fsum(right) / len(right), "learned/min": min(right)} if right else {}),
            },
            steps=tuple((s.start, s.end) for s in steps),
        )


def reader(tokenizer: Any, template: str, limit: int) -> Reader:
    """What feeds a classifier: problem, completion, and an EOS that says that nothing more comes."""
    return Reader(tokenizer, template=template, limit=limit, end=True)


def step_places(read: Read, steps: Sequence[Step], length: int) -> list[int | None]:
    """For each step the place, among the completion's ids, of its score: the last token of it, or for a step that ends
    the text, whose length is given, the EOS after it. None where the step was not read to its end."""
    covered = max((end for _, end in read.spans), default=0)
    starts = np.array([start for start, _ in read.spans], dtype=np.int64)
    out: list[int | None] = []
    for step in steps:
        at_end = step.end == length and not read.cut
        last = len(starts) - 1 if at_end else int(np.searchsorted(starts, step.end - 1, side="right")) - 1
        out.append(last if step.end <= covered and last >= 0 else None)
    return out


@torch.inference_mode()
def wrong_logits(model: Any, reads: Iterable[Read], batch_tokens: int | None = None) -> dict[Read, NDArray[np.float64]]:
    """Log-odds of "wrong" against "right" at each of a completion's ids: (T,) float64 for each of `reads`. Equal ones
    are fed once."""
    device = next(model.parameters()).device
    known: dict[Read, NDArray[np.float64]] = {}
    for batch in batches(dict.fromkeys(reads), device, batch_tokens):
        ids_BT, mask_BT = padded([read.ids for read in batch], device)
        logits_BTC = model(input_ids=ids_BT, attention_mask=mask_BT).logits.double()
        z_BT = (logits_BTC[..., WRONG_CLASS] - logits_BTC[..., RIGHT_CLASS]).cpu().numpy()
        for row, read in enumerate(batch):
            known[read] = z_BT[row, read.start : len(read.ids)]
    return known


_MODES: dict[str, Callable[[float, float], float]] = {
    "first": lambda p, before: (p - 1) * before,
    "penalty": lambda p, before: p - 1,
    "centred": lambda p, before: 2 * p - 1,
}
_OUTCOMES: dict[str, Callable[[Sequence[float]], float | None]] = {
    "none": lambda p: None,
    "product": math.prod,
    "min": lambda p: min(p, default=1.0),
}
_CHOICES = {
    "per": ("step", "token"),
    "mode": tuple(_MODES),
    "outcome": tuple(_OUTCOMES),
    "too_long": ("window", "unscored"),
}
