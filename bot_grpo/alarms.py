"""Signs that a run goes wrong although its reward looks well, read off the metrics of its steps.

The windows and thresholds are ours. Two windows of `WINDOW` steps are compared, the last one and the one before it: in
between a healthy run moves by less.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from typing import Any

WINDOW = 3  # steps
Row = Mapping[str, Any]


class Alarms:
    """Takes each step's metrics as they come. An alarm sounds once when its sign appears, and again if it comes back.

    `w_g` is the weight of the outcome in the reward, `sampler_gap` the mean gap in nats that a sampler may have.
    """

    def __init__(self, w_g: float = 1.0, sampler_gap: float = 0.1) -> None:
        self._w_g, self._sampler_gap = w_g, sampler_gap
        self._rows: list[Row] = []
        self._sounding: set[str] = set()

    def step(self, row: Row) -> dict[str, str]:
        """The alarms that begin with this step: name to text, what it is and what to do."""
        self._rows.append(row)
        seen = {name: sign(self) for name, sign in SIGNS.items()}
        fresh = {name: text for name, text in seen.items() if text and name not in self._sounding}
        self._sounding = {name for name, text in seen.items() if text}
        return fresh

    def _values(self, name: str) -> list[float]:
        """The metric at every step so far; empty where a step lacks it."""
        values = [row.get(name) for row in self._rows]
        numbers = [float(v) for v in values if isinstance(v, int | float)]
        return numbers if len(numbers) == len(values) else []

    def _before_and_now(self, name: str) -> tuple[float, float] | None:
        """Means of the two last windows; None while there are too few steps, or none has the metric."""
        values = self._values(name)
        if len(values) < 2 * WINDOW:
            return None
        return statistics.fmean(values[-2 * WINDOW : -WINDOW]), statistics.fmean(values[-WINDOW:])

    def _lasting(self, name: str, least: float) -> bool:
        last = self._values(name)[-WINDOW:]
        return len(last) == WINDOW and min(last) >= least

    # -- the signs: a text, or "" ---------------------------------------------------------------------------------

    def _flat(self) -> str:
        if not self._lasting("algo/zero_variance_groups", 1.0):
            return ""
        return (
            "in every group all rewards are equal, so nothing is learned: the task may be too hard or too easy for "
            "this model; try more cold_start_steps, an easier tier, or a higher temperature"
        )

    def _cut(self) -> str:
        if not self._lasting("truncated", 0.95):
            return ""
        return "nearly every completion is cut off at max_completion_length: raise it, or ask for shorter answers"

    def _shrinking(self, name: str, what: str) -> str:
        pair = self._before_and_now(name)
        if pair is None or pair[1] >= 0.5 * pair[0]:
            return ""
        return (
            f"{what} fell from {pair[0]:.0f} to {pair[1]:.0f} in {WINDOW} steps: the policy may have found something "
            "short that the reward likes; look at the completions, and let the outcome ask for more"
        )

    def _length(self) -> str:
        return self._shrinking("completion_length", "the tokens a completion")

    def _steps(self) -> str:
        return self._shrinking("steps", "the steps a completion")

    def _hacked(self) -> str:
        outcome, local = self._before_and_now("reward/outcome"), self._before_and_now("reward/local")
        if outcome is None or local is None:
            return ""
        fall = outcome[0] - outcome[1]
        rise = self._w_g * -fall + local[1] - local[0]
        if fall <= 0.02 or rise <= 0:
            return ""
        return (
            f"the reward grows by {rise:.3f} while the outcome falls by {fall:.3f}: the local reward is being played; "
            "lower w_s, or audit the reward model"
        )

    def _kl(self) -> str:
        values = self._values("policy/kl")
        if len(values) <= 2 * WINDOW:
            return ""
        usual = statistics.median(values[:-1])
        if values[-1] <= max(5 * usual, 0.01):
            return ""
        return (
            f"the KL divergence from the reference jumped to {values[-1]:.3g} (median so far {usual:.3g}): lower the "
            "learning rate, or raise beta"
        )

    def _saturated(self) -> str:
        if not self._lasting("reward/saturated", 0.5):
            return ""
        return "over half of all tokens have a local reward at its bound, which tells them apart no more: rescale it"

    def _gap(self) -> str:
        values = self._values("sampler/gap")
        if not values or max(values) <= self._sampler_gap:  # the largest so far: it is said once
            return ""
        return (
            f"the sampler's log-probabilities were {max(values):.2g} nats a token from the trainer's, and over "
            f"{self._sampler_gap:g} (sampler_gap_alarm) they are no longer the same policy: check that both have one "
            "dtype and one model, that weights reach vLLM (a server: see its log, and start it as `--dry-run` says), "
            "that vllm_max_model_length holds prompt and completion, and that top_p, top_k, min_p and "
            "repetition_penalty leave the distribution as it is"
        )

    def _stale(self) -> str:
        values = self._values("sampler/gap")
        if len(values) < 2 * WINDOW:
            return ""
        first, grown = min(values[:WINDOW]), max(_medians(values[WINDOW:]))
        if grown <= max(3 * first, 0.2 * self._sampler_gap):
            return ""
        return (
            f"the sampler's gap grew from {first:.2g} to {grown:.2g} nats a token, as it does where new weights do not "
            "reach it: look for failed weight updates in vLLM's log, and start its server again"
        )

    def _blank(self) -> str:
        blank, compiles = self._before_and_now("blank_rate"), self._before_and_now("compile_rate")
        if blank is None or compiles is None or blank[1] - blank[0] <= 0.1 or compiles[1] <= compiles[0]:
            return ""
        return (
            f"more compiles ({compiles[0]:.0%} to {compiles[1]:.0%}), but more pages are blank ({blank[0]:.0%} to "
            f"{blank[1]:.0%}): weigh the requirements more, or blank_penalty"
        )


def _medians(values: list[float]) -> list[float]:
    """Of every window of `WINDOW` steps."""
    return [statistics.median(values[i : i + WINDOW]) for i in range(len(values) - WINDOW + 1)]


SIGNS: dict[str, Callable[[Alarms], str]] = {
    "flat_groups": Alarms._flat,
    "all_truncated": Alarms._cut,
    "length_collapse": Alarms._length,
    "steps_collapse": Alarms._steps,
    "reward_without_outcome": Alarms._hacked,
    "kl_spike": Alarms._kl,
    "saturated_reward": Alarms._saturated,
    "blank_pages": Alarms._blank,
    "sampler_gap": Alarms._gap,
    "stale_sampler": Alarms._stale,
}
