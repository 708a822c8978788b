"""The paper's reward for AIME (BoT-GRPO, Eq. 8): correctness, format, and marks of the steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from reward_models.base import Answer, Rollout


@dataclass
class AIMEReward:
    """r_t = w_g * 1[correct] + w_s * S_t + b_format, where w_g (3) and w_s (.5) are the trainer's.

    `rollout.row["answer"]` is the gold. The outcome is 1[correct] + w_format * b_format, with b_format +0.2 for a
    perfect format, -1 for tags that do not match and 0 for none; w_format = 1/3 with w_g = 3 is Eq. 8. Metrics:
    accuracy, format_rate, boxed_rate, truncated.
    """

    w_format: float = 1 / 3
    steps: str = "arithmetic"  # "judge", "none"
    window: int = 3
    propagation: str = "error"
    split: str = "tags"
    judge: Mapping[str, Any] | None = None
    bound: float = field(default=1.0, init=False)

    def score(self, rollouts: Sequence[Rollout]) -> list[Answer]:
        """One answer a rollout, in their order."""
        raise NotImplementedError
