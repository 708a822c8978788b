"""What a reward model says of replies and of what an audit makes of them: asked here, weighed in `audit_criteria`."""

from __future__ import annotations

import copy
import random
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reward_models.alignment import line_spans
from reward_models.audit_probes import ADDED, CORRUPTED, HARMLESS, INSTEAD, Change, Probe
from reward_models.base import RewardSignal, Rollout, TokenRewardModel, Unscored
from reward_models.contract import Encoded
from reward_models.scoring import ask, bound_of, checked, model_name

BATCH = 32
_SLACK = 1e-9  # of a bound: sums of floats
_FLOOR = 0.05  # of the largest reward: differences are never measured against a smaller range than this

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Sample:
    """A rollout to audit with, and what is known of it: samples of one `group` answer the same prompt at one step."""

    rollout: Rollout
    name: str = ""
    outcome: float | None = None
    group: str = ""
    step: int | None = None


@dataclass(frozen=True)
class Heard:
    """What a model says of a rollout: G, and S of each token. `reason`: why it has no score; `broken`: how the answer
    breaks what the model declares."""

    rollout: Rollout
    outcome: float | None
    local_T: Floats
    reason: str = ""
    broken: str = ""

    @property
    def scored(self) -> bool:
        return not self.reason

    @property
    def local(self) -> float:
        """The mean of S over the tokens: what each token has a 1/L share in, as in BoT-GRPO's mean of a group."""
        return float(self.local_T.mean()) if len(self.local_T) else 0.0

    @property
    def reward(self) -> float:
        """The mean of G + S_t over the tokens, rounded to where floats still say something."""
        return round((self.outcome or 0.0) + self.local, 9)


class Pair(NamedTuple):
    """A reply before and after a change of a kind."""

    name: str
    kind: str
    change: Change
    before: Heard
    after: Heard

    @property
    def scored(self) -> bool:
        return self.before.scored and self.after.scored

    @property
    def rise(self) -> float:
        return self.after.reward - self.before.reward


@dataclass(frozen=True)
class Answers:
    """All that an audit asked a model. `again` and `shuffled` are the rollouts of `first`, in its order.

    `pairs` are by probe, those of CORRUPTED together; `tried` is for how many replies a probe was looked for.
    """

    name: str
    bound: float
    spread: str
    seed: int
    samples: Sequence[Sample]
    first: Sequence[Heard]
    again: Sequence[Heard]
    shuffled: Sequence[Heard]
    pairs: Mapping[str, Sequence[Pair]]
    tried: Mapping[str, int]
    seconds: float
    best_known: bool

    @cached_property
    def scored(self) -> list[Heard]:
        return [one for one in self.first if one.scored]

    @cached_property
    def has_outcome(self) -> bool:
        return any(one.outcome is not None for one in self.scored)

    @cached_property
    def has_local(self) -> bool:
        return any(one.local_T.any() for one in self.scored)

    @cached_property
    def reward_range(self) -> float:
        """How far the rewards of the replies lie apart: what a difference is measured against."""
        return _range([one.reward for one in self.scored], self.bound)

    @cached_property
    def outcome_range(self) -> float:
        return _range([one.outcome or 0.0 for one in self.scored], 0.0)

    @cached_property
    def local_size(self) -> float:
        """The largest local reward of a line."""
        sizes = [np.abs(on_lines(one, self.spread)).max(initial=0.0) for one in self.scored]
        return float(max(sizes, default=0.0)) or self.bound or 1.0

    def moved(self, a: Heard, b: Heard) -> float:
        """The larger of how far G moved in its range, and a line's S against the largest there is.

        What b's text has at its end, and a's has not, counts as its last line's or not, whichever moves less.
        """
        if a.scored != b.scored:
            return 1.0
        before = on_lines(a, self.spread)
        after = [on_lines(b, self.spread, length) for length in (None, len(a.rollout.completion))]
        by_local = min(_largest_gap(before, lines) for lines in after) / self.local_size
        return max(by_local, abs((a.outcome or 0.0) - (b.outcome or 0.0)) / self.outcome_range)


def _largest_gap(a_N2: Floats, b_N2: Floats) -> float:
    n = min(len(a_N2), len(b_N2))
    return float(np.abs(a_N2[:n] - b_N2[:n]).max(initial=0.0))


def _range(values: Sequence[float], bound: float) -> float:
    if not values:
        return 1.0
    largest = max(bound, max(map(abs, values)))
    return max(max(values) - min(values), _FLOOR * largest) or 1.0


def on_lines(one: Heard, spread: str, length: int | None = None) -> Floats:
    """(lowest, highest) S of the tokens on each line, (N, 2); twice their sum where a value is divided over tokens.

    A token's S stands on its characters; with `length` only that many characters of the text are looked at.
    """
    text = one.rollout.completion[:length]
    sizes = np.array([b - a for a, b in one.rollout.spans], dtype=np.int64)
    starts = [a for a, b in line_spans(text) if a < b]
    if not starts or not sizes.sum():
        return np.zeros((0, 2))
    if spread == "every":
        value_C = np.repeat(one.local_T, sizes)[: len(text)]
        return np.stack([np.minimum.reduceat(value_C, starts), np.maximum.reduceat(value_C, starts)], axis=1)
    value_C = np.repeat(one.local_T / np.maximum(sizes, 1), sizes)[: len(text)]
    total = np.add.reduceat(value_C, starts)
    return np.stack([total, total], axis=1)


class _Asker:
    """Asks a model in batches, and counts what it took."""

    def __init__(self, model: TokenRewardModel, encode: Callable[[str], Encoded], on_done: Callable[[int], None]):
        self._model, self._encode, self._on_done = model, encode, on_done
        self.bound = bound_of(model)
        self._loose = _Loose(model)

    def about(self, rollouts: Sequence[Rollout]) -> list[Heard]:
        heard = []
        for start in range(0, len(rollouts), BATCH):
            batch = [replace(r, row=copy.deepcopy(dict(r.row))) for r in rollouts[start : start + BATCH]]
            heard += [self._heard(*each) for each in zip(batch, self._answers(batch), strict=True)]
            self._on_done(len(batch))
        return heard

    def encoded(self, rollout: Rollout, text: str) -> Rollout:
        """The rollout with another text, in the tokens that a tokenizer makes of it."""
        return Rollout(rollout.prompt, *self._encode(text), rollout.row, rollout.truncated)

    def _answers(self, batch: Sequence[Rollout]) -> Sequence[RewardSignal | Unscored]:
        """What a batch raises is one rollout's fault, perhaps: it is looked for by halves."""
        answers = ask(self._model, batch)
        raised = f"{model_name(self._model)} raised"
        if len(batch) > 1 and all(isinstance(a, Unscored) and a.reason.startswith(raised) for a in answers):
            middle = len(batch) // 2
            return [*self._answers(batch[:middle]), *self._answers(batch[middle:])]
        return answers

    def _heard(self, rollout: Rollout, answer: RewardSignal | Unscored) -> Heard:
        nothing = np.zeros(len(rollout.token_ids))
        if isinstance(answer, Unscored):
            return Heard(rollout, None, nothing, answer.reason or "no reason given")
        try:
            signal, local_T = checked(self._loose, rollout, answer)
        except ValueError as error:
            return Heard(rollout, None, nothing, str(error), str(error))
        worst = float(np.abs(local_T).max(initial=0.0))
        broken = f"a local reward of {worst:g} breaks the bound {self.bound:g}" if worst > self.bound + _SLACK else ""
        return Heard(rollout, signal.outcome, local_T, broken=broken)


class _Loose:
    """A model's declarations, but for its bound: that one is broken is said, and the audit goes on."""

    bound = sys.float_info.max

    def __init__(self, model: Any) -> None:
        self.spread, self.name = getattr(model, "spread", "every"), model_name(model)


def ask_everything(
    model: TokenRewardModel,
    samples: Sequence[Sample],
    encode: Callable[[str], Encoded],
    *,
    probes: int,
    seed: int,
    begin: Callable[[int], Callable[[int], None]],
    reopen: Callable[[], TokenRewardModel] | None,
) -> Answers:
    """Ask a model about samples three times (as they are, again, in another order), and about probes of `probes` of
    them. `begin` gets the number of texts to ask about, and gives what is told of each batch. What `reopen` gives is
    asked in another order, last of all: a model that remembers its answers would only repeat them.

    Where nothing can be scored the first time, nothing else is asked. Raises RewardError, SetupError.
    """
    rng = random.Random(seed)
    rollouts = [s.rollout for s in samples]
    any_of_them, best, best_known = _to_probe(samples, probes, rng)
    changes: dict[str, list[tuple[Sample, str, Change]]] = {}
    tried: dict[str, int] = {}
    plans: list[tuple[str, Sequence[Sample], Mapping[str, Probe]]] = [
        *((key, any_of_them, {key: probe}) for key, probe in {**HARMLESS, **ADDED}.items()),
        *((key, best, {key: probe}) for key, probe in INSTEAD.items()),
        ("corrupted", best, CORRUPTED),
    ]
    for key, subset, kinds in plans:
        made = [(s, kind, probe(s.rollout.completion, rng)) for s in subset for kind, probe in kinds.items()]
        changes[key] = [(s, kind, change) for s, kind, change in made if change]
        tried[key] = len(subset)
    probed = list({id(s): s for s in [*any_of_them, *best]}.values())
    done = begin(3 * len(samples) + len(probed) + sum(map(len, changes.values())))
    asker = _Asker(model, encode, done)

    start = time.perf_counter()
    first = asker.about(rollouts)
    seconds = time.perf_counter() - start
    again: list[Heard] = []
    shuffled: list[Heard] = []
    pairs: dict[str, list[Pair]] = {key: [] for key in changes}
    if any(one.scored for one in first):
        again = asker.about(rollouts)
        plain = asker.about([asker.encoded(s.rollout, s.rollout.completion) for s in probed])
        before = dict(zip(map(id, probed), plain, strict=True))
        for key, changed in changes.items():
            after = asker.about([asker.encoded(s.rollout, change.text) for s, _, change in changed])
            pairs[key] = [
                Pair(s.name, kind, change, before[id(s)], heard)
                for (s, kind, change), heard in zip(changed, after, strict=True)
            ]
        order = rng.sample(range(len(rollouts)), len(rollouts))
        anew = asker if reopen is None else _Asker(reopen(), encode, done)
        moved = dict(zip(order, anew.about([rollouts[i] for i in order]), strict=True))
        shuffled = [moved[i] for i in range(len(rollouts))]
    name, spread = model_name(model), str(getattr(model, "spread", "every"))
    return Answers(name, asker.bound, spread, seed, samples, first, again, shuffled, pairs, tried, seconds, best_known)


def _to_probe(samples: Sequence[Sample], probes: int, rng: random.Random) -> tuple[list[Sample], list[Sample], bool]:
    """Some of the samples; some of those whose outcome is above the mean; and whether outcomes told which these are.

    What was cut off is left out as long as there is something else.
    """
    whole = [s for s in samples if not s.rollout.truncated and s.rollout.completion.strip()] or list(samples)
    known = [s.outcome for s in whole if s.outcome is not None]
    mean = sum(known) / len(known) if known else 0.0
    better = [s for s in whole if s.outcome is not None and s.outcome > mean]
    best = better or whole
    return rng.sample(whole, min(probes, len(whole))), rng.sample(best, min(probes, len(best))), bool(better)
