"""Several reward models as one: r_t = w_g G + w_s S_t over all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from reward_models.base import Answer, RewardSignal, Rollout, TokenRewardModel, Unscored
from reward_models.errors import RewardError
from reward_models.scoring import Scored, bound_of, model_name, score

Role = Literal["outcome", "local", "both"]


@dataclass(frozen=True)
class Source:
    """A reward model in a mix: what it is used for, and how much of its G and of its S counts."""

    model: TokenRewardModel
    weight_g: float = 1.0
    weight_s: float = 1.0
    role: Role = "both"
    name: str = ""

    def __post_init__(self) -> None:
        if self.role not in get_args(Role):
            raise RewardError(f"there is no role {self.role!r}; there are: {', '.join(get_args(Role))}")

    @property
    def gives_outcome(self) -> bool:
        return self.role != "local"

    @property
    def gives_local(self) -> bool:
        return self.role != "outcome"


class Mix:
    """G and S_t are the weighted sums of those of its sources, each on tokens by its own `spread`.

    A rollout that one of the sources could not score is unscored. A source that has no outcome for any rollout of a
    batch counts as local; where there is none at all the mix has none, unless all its sources are called local: then
    G is 0. Metrics and details of all sources are kept, and `G/NAME`, `S/NAME` (the mean over tokens) say what each one
    added; the first source that annotates steps gives them. `details["sources"]` holds what each source said
    (`Scored`), by name.
    """

    def __init__(self, sources: Sequence[Source]) -> None:
        if not sources:
            raise RewardError("a mix needs a source at least")
        self.sources = tuple(sources)
        self.names = _names(self.sources)
        spreads = {getattr(s.model, "spread", "every") for s in sources if s.gives_local}
        self.spread = spreads.pop() if len(spreads) == 1 else "every"  # of values that are on tokens already

    @property
    def bound(self) -> float:
        """The sum of the sources' weighted bounds."""
        return sum(abs(s.weight_s) * bound_of(s.model) for s in self.sources if s.gives_local)

    def score(self, rollouts: Sequence[Rollout]) -> list[Answer]:
        """One answer a rollout, in order."""
        columns = [score(source.model, rollouts, outcome=False) for source in self.sources]
        gives = [s.gives_outcome and _has_outcome(column) for s, column in zip(self.sources, columns, strict=True)]
        return [self._mixed(each, gives) for each in zip(*columns, strict=True)]

    def close(self) -> None:
        """Close the sources that can be closed."""
        for source in self.sources:
            close(source.model)

    def _mixed(self, parts: Sequence[Scored], gives: Sequence[bool]) -> Answer:
        bad = [f"{n}: {p.reason}" for n, p in zip(self.names, parts, strict=True) if p.signal is None]
        signals = [p.signal for p in parts if p.signal is not None]
        if not bad:
            missing = [n for n, g, s in zip(self.names, gives, signals, strict=True) if g and s.outcome is None]
            bad = [f"{n}: it has no outcome here, and one elsewhere" for n in missing]
        if bad:
            return Unscored("; ".join(bad))
        outcome = 0.0 if any(gives) or not any(s.gives_outcome for s in self.sources) else None
        local_T = np.zeros(len(parts[0].rollout.token_ids))
        metrics: dict[str, float] = {}
        details: dict[str, Any] = {}
        for name, source, part, signal, counts in zip(self.names, self.sources, parts, signals, gives, strict=True):
            metrics |= signal.metrics
            details |= signal.details
            if counts and outcome is not None and signal.outcome is not None:
                metrics[f"G/{name}"] = source.weight_g * signal.outcome
                outcome += metrics[f"G/{name}"]
            if source.gives_local:
                local_T += source.weight_s * part.local_T
                metrics[f"S/{name}"] = float(source.weight_s * part.local_T.mean()) if local_T.size else 0.0
        return RewardSignal(
            outcome=outcome,
            metrics=metrics,
            details={**details, "sources": dict(zip(self.names, parts, strict=True))},
            steps=next((s.steps for s in signals if s.steps is not None), None),
            tokens=tuple(local_T.tolist()),
        )


def _has_outcome(column: Sequence[Scored]) -> bool:
    """Whether a source that could score something says of anything what its outcome is."""
    signals = [one.signal for one in column if one.signal is not None]
    return not signals or any(s.outcome is not None for s in signals)


def close(model: object) -> None:
    """Close a reward model that can be closed."""
    end = getattr(model, "close", None)
    if callable(end):
        end()


def _names(sources: Sequence[Source]) -> tuple[str, ...]:
    """What the sources are called; a second one of a name gets a number."""
    seen: Counter[str] = Counter()
    names = []
    for source in sources:
        name = source.name or model_name(source.model)
        seen[name] += 1
        names.append(name if seen[name] == 1 else f"{name}-{seen[name]}")
    return tuple(names)
