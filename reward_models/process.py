"""Local rewards from a public process reward model (PRM): one score a step, on the step's last character.

The PRM reads text through its own tokenizer and template (`process_adapters.ADAPTERS`); nothing of the policy's tokens
reaches it. Its scores say how likely everything is right so far, so a plain sum of them pays for more steps (PURE,
2504.15275, section 4): what becomes of them is the setting `mode`.
"""

from __future__ import annotations

import math
import warnings
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import get_args

import torch

from reward_models.alignment import CharSpans, Spread
from reward_models.base import Answer, RewardSignal, Rollout, Span, Unscored
from reward_models.errors import RewardError
from reward_models.pretrained import batches, load_config, load_tokenizer, load_weights, padded
from reward_models.process_adapters import ADAPTERS, Encoded, adapter_name
from reward_models.step_text import Split, Step, check_split, problem_of, split_steps
from sandbox.words import counted, plural

Scores = Sequence[float | None]
"""Probabilities of the steps of one solution; None for a step that was not scored."""

_START = 0.5  # what "difference" takes the probability to be before the first step
_PROBLEM = "What is 3 + 4 * 2?"
_RIGHT = ("Multiplication comes first: 4 * 2 = 8.", "Then we add: 3 + 8 = 11.", "The answer is \\boxed{11}.")
_WRONG = ("Let us add first: 3 + 4 = 9.", "Then we multiply: 9 * 2 = 25.", "The answer is \\boxed{-6}.")
_APART = 0.1


@dataclass
class ProcessReward:
    """Scores the steps of solutions with a PRM.

    Args:
        model: a folder, or a hub id.
        adapter: how it is fed, a name in `ADAPTERS`; "auto" takes it from the model's config.
        mode: what a step gets for its probability p. "centred": 2p - 1. "raw": p. "difference": p less the p of the
            step before it (1/2 before the first). "min_form": (2p - 1) by its weight in softmax(-(2p - 1) /
            temperature) over the solution's steps, so that their sum is about the worst step's (PURE, Eq. 5).
        temperature: of "min_form".
        outcome: also give an outcome G: the "min", "mean", "last" or "product" of the probabilities, 0 for an empty
            solution; "none": local rewards alone.
        split, min_chars, max_steps: how steps are found (`step_text.split_steps`); `split` None: as the adapter's
            models were trained.
        max_tokens: how long an input may be; None: the model's number of positions.
        too_long: what becomes of a longer solution. "window": the steps that fit, from the first, are scored. "chunk":
            the steps after those are scored as if they followed the problem, and so on. "unscored": it is left out.
            A step without a score gets 0, or 1/2 where `mode` is "raw".
        batch_tokens: tokens in one forward pass, padding included; None: 16,384 on a GPU, 2,048 on a CPU.
        dtype, device: of the weights: auto (as they are), float32, bfloat16, float16; None is a GPU if there is one.
        self_test: whether a model that scores a right and a wrong solution alike is an "error", a "warning", or not
            looked at ("off"). Weights that load wrongly score every step the same, and say nothing.
        spread: how a step's value goes to its tokens (`alignment.spread_spans`).

    Raises:
        RewardError: a setting that is none, a model that cannot be loaded, or one that fails its self-test.
    """

    model: str
    adapter: str = "auto"
    mode: str = "centred"
    temperature: float = 0.1
    outcome: str = "none"
    split: Split | None = None
    min_chars: int = 1
    max_steps: int | None = 256
    max_tokens: int | None = None
    too_long: str = "window"
    batch_tokens: int | None = None
    dtype: str = "auto"
    device: str | None = None
    self_test: str = "error"
    spread: str = "last"
    bound: float = field(default=1.0, init=False)

    def __post_init__(self) -> None:
        for name, there in _CHOICES.items():
            if getattr(self, name) not in there:
                raise RewardError(f"{name} is one of {', '.join(there)}, not {getattr(self, name)!r}")
        if not self.temperature > 0:
            raise RewardError(f"temperature is above 0, not {self.temperature!r}")
        if self.split is not None:
            check_split(self.split)
        config = load_config(self.model)
        adapter = ADAPTERS[adapter_name(config) if self.adapter == "auto" else self.adapter]
        tokenizer = load_tokenizer(self.model)
        self._encode, self._labels, self._score = adapter.encode(tokenizer), adapter.labels(tokenizer), adapter.score
        self._split: Split = adapter.split if self.split is None else self.split
        positions = getattr(config.get_text_config(), "max_position_embeddings", None)
        self._limit = int(self.max_tokens or positions or 4096)
        self._model = load_weights(adapter.cls, self.model, dtype=self.dtype, device=self.device, config=config)
        self._device = next(self._model.parameters()).device
        if self.self_test != "off":
            self._test_itself()

    def score(self, rollouts: Sequence[Rollout]) -> list[Answer]:
        """One answer a rollout, in their order."""
        plans = [self._plan(r) for r in rollouts]
        inputs = [e for plan in plans if isinstance(plan, _Plan) for _, e in plan.inputs]
        known = self._probabilities(inputs)
        return [
            plan if isinstance(plan, Unscored) else self._signal(rollout, plan, known)
            for rollout, plan in zip(rollouts, plans, strict=True)
        ]

    def _plan(self, rollout: Rollout) -> _Plan | Unscored:
        """The steps of a solution, and the inputs that score them."""
        try:
            steps = split_steps(rollout.completion, self._split, min_chars=self.min_chars, max_steps=self.max_steps)
            texts = [rollout.completion[s.text_start : s.text_end] for s in steps]
            plan = _Plan(steps, tuple(self._inputs(problem_of(rollout), texts)))
        except ValueError as error:  # SplitError, or scores that do not go with the steps
            return Unscored(str(error))
        missing = len(steps) - plan.scored
        if missing and (self.too_long == "unscored" or not plan.scored):
            of = f"{missing} of {counted(len(steps), 'step')} {plural(missing, 'does', 'do')}"
            return Unscored(f"{of} not fit into {self._limit} tokens")
        return plan

    def _inputs(self, problem: str, texts: Sequence[str]) -> Iterator[tuple[int, Encoded]]:
        """What to feed: the index of the first step, and ids that end with the last score which fits."""
        start = 0
        while start < len(texts):
            encoded = self._encode(problem, texts[start:], start + 1)
            fits = bisect_right(encoded.at, self._limit - 1)
            if fits:
                yield start, Encoded(encoded.ids[: encoded.at[fits - 1] + 1], encoded.at[:fits])
            elif self._encode(problem, [""], 1).at[0] >= self._limit:
                return  # the problem alone is too long
            if self.too_long != "chunk":
                return
            start += max(1, fits)

    def _probabilities(self, inputs: Sequence[Encoded]) -> dict[Encoded, list[float]]:
        """The probabilities of each input's steps. Equal inputs are fed once, and those of like lengths together."""
        known: dict[Encoded, list[float]] = {}
        for batch in batches(dict.fromkeys(inputs), self._device, self.batch_tokens):
            ids_BT, mask_BT = padded([e.ids for e in batch], self._device)
            rows_N = torch.tensor([row for row, e in enumerate(batch) for _ in e.at], device=self._device)
            at_N = torch.tensor([i for e in batch for i in e.at], device=self._device)
            with torch.inference_mode():
                found = self._score(self._model, ids_BT, mask_BT, rows_N, at_N, self._labels).tolist()
            for encoded in batch:
                known[encoded], found = found[: len(encoded.at)], found[len(encoded.at) :]
        return known

    def _signal(self, rollout: Rollout, plan: _Plan, known: dict[Encoded, list[float]]) -> Answer:
        scores: list[float | None] = [None] * len(plan.steps)
        for start, encoded in plan.inputs:
            scores[start : start + len(encoded.at)] = known[encoded]
        given = [p for p in scores if p is not None]
        if not all(math.isfinite(p) for p in given):
            return Unscored("a score of the PRM is not a number")
        values = _MODES[self.mode](scores, self.temperature)
        spans = [
            Span(*step.span, value, f"step {n}: {'not scored' if p is None else f'p = {p:.3f}'}")
            for n, (step, value, p) in enumerate(zip(plan.steps, values, scores, strict=True), 1)
            if value or p is not None
        ]
        return RewardSignal(
            outcome=_OUTCOMES[self.outcome](given),
            spans=_one_a_token(spans, rollout.spans) if self.spread == "last" else tuple(spans),
            metrics={
                "process/steps": float(len(scores)),
                "process/too_long": float(len(given) < len(scores)),
                "process/scored": len(given) / len(scores) if scores else 1.0,
                **({"process/mean": math.fsum(given) / len(given), "process/min": min(given)} if given else {}),
            },
            details={"process_scores": scores},
            steps=tuple((s.start, s.end) for s in plan.steps),
        )

    def _test_itself(self) -> None:
        right, wrong = (self._encode(_PROBLEM, steps, 1) for steps in (_RIGHT, _WRONG))
        known = self._probabilities([right, wrong])
        good, bad = min(known[right]), min(known[wrong])
        if good - bad > _APART:
            return
        text = (
            f"{self.model} scores a right solution {good:.3f} and a wrong one {bad:.3f} at their worst steps: "
            "its weights or its adapter are not what they should be (`self_test: off` goes on regardless)"
        )
        if self.self_test == "error":
            raise RewardError(text)
        warnings.warn(text, stacklevel=3)


@dataclass(frozen=True)
class _Plan:
    """The steps of one solution, and what is fed to score them: (index of the first step, ids)."""

    steps: tuple[Step, ...]
    inputs: tuple[tuple[int, Encoded], ...]

    @property
    def scored(self) -> int:
        return sum(len(e.at) for _, e in self.inputs)


def _one_a_token(spans: Sequence[Span], tokens: CharSpans) -> tuple[Span, ...]:
    """Spans that end in the same token of the policy, as one with their sum, cut at 1: a token has one value."""
    starts = [a for a, b in tokens if a < b]
    out: list[Span] = []
    for span in spans:
        same = out and bisect_right(starts, out[-1].end - 1) == bisect_right(starts, span.end - 1)
        if starts and same:
            last = out.pop()
            total = min(max(last.value + span.value, -1.0), 1.0)
            span = Span(last.start, span.end, total, f"{last.reason}; {span.reason}")
        out.append(span)
    return tuple(out)


# -- from probabilities to rewards -------------------------------------------------------------------------------------


def _raw(scores: Scores, temperature: float) -> list[float]:
    return [0.5 if p is None else p for p in scores]


def _centred(scores: Scores, temperature: float) -> list[float]:
    return [0.0 if p is None else 2 * p - 1 for p in scores]


def _difference(scores: Scores, temperature: float) -> list[float]:
    values, before = [], _START
    for p in scores:
        values.append(0.0 if p is None else p - before)
        before = before if p is None else p
    return values


def _min_form(scores: Scores, temperature: float) -> list[float]:
    """PURE, Eq. 5: r*_j = softmax_j(-r_j / T) r_j, with r = 2p - 1, over the steps that were scored."""
    r = [2 * p - 1 for p in scores if p is not None]
    weights = [math.exp((min(r) - x) / temperature) for x in r]
    transformed = iter([w * x / math.fsum(weights) for w, x in zip(weights, r, strict=True)])
    return [0.0 if p is None else next(transformed) for p in scores]


_MODES: dict[str, Callable[[Scores, float], list[float]]] = {
    "centred": _centred,
    "raw": _raw,
    "difference": _difference,
    "min_form": _min_form,
}
_OUTCOMES: dict[str, Callable[[Sequence[float]], float | None]] = {
    "none": lambda scores: None,
    "min": lambda scores: min(scores, default=0.0),
    "mean": lambda scores: math.fsum(scores) / len(scores) if scores else 0.0,
    "last": lambda scores: scores[-1] if scores else 0.0,
    "product": lambda scores: math.prod(scores) if scores else 0.0,
}
_CHOICES = {
    "adapter": ("auto", *ADAPTERS),
    "mode": tuple(_MODES),
    "outcome": tuple(_OUTCOMES),
    "too_long": ("window", "chunk", "unscored"),
    "self_test": ("error", "warning", "off"),
    "spread": get_args(Spread),
}
