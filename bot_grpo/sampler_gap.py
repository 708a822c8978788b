"""How far the log-probabilities of the sampler are from the trainer's, on the tokens that it sampled.

Both are meant to be one policy. But vLLM computes it with kernels of its own, perhaps in another dtype, from weights
that are sent to it after each step; and the sampler here folds a LoRA adapter into rounded weights. The gap is the
probe of all that: weights that do not arrive, a wrong template or a wrong length of positions all show in it.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from bot_grpo.groups import wide
from bot_grpo.objectives import LOG_RATIO_BOUND


class SamplerGap:
    """Collects the `sampler/` figures over micro-batches; nothing crosses processes before `take`.

    With d = log pi - log mu a token, pi the trainer's policy and mu the sampler's:

    * gap, gap_max: mean and largest |d|, in nats;
    * ratio: mean exp(d), which is 1 in expectation where mu leaves no token out;
    * kl: mean exp(d) - 1 - d, the k3 estimate of KL(mu || pi) (Schulman 2020);
    * unknown: share of tokens of which the sampler gave no log-probability; the other figures leave them out.
    """

    def __init__(self) -> None:
        self._sums: Tensor | None = None
        self._largest: Tensor | None = None

    def add(self, sampled_BT: Tensor, logps_BT: Tensor, mask_BT: Tensor) -> None:
        """log mu (NaN: not known) and log pi of the tokens in the mask; differences are taken in float32."""
        d_BT = logps_BT.detach().float() - sampled_BT.float()
        known_BT = mask_BT.bool() & torch.isfinite(d_BT)
        d_BT = torch.where(known_BT, d_BT, 0)
        bounded_BT = wide(d_BT.clamp(-LOG_RATIO_BOUND, LOG_RATIO_BOUND))
        ratio_BT = bounded_BT.exp() * known_BT
        k3_BT = torch.expm1(bounded_BT) - bounded_BT
        parts = (known_BT, mask_BT.bool(), d_BT.abs(), ratio_BT, k3_BT)
        sums = torch.stack([wide(part).sum() for part in parts])
        largest = d_BT.abs().max() if d_BT.numel() else d_BT.new_zeros(())
        self._sums = sums if self._sums is None else self._sums + sums
        self._largest = largest if self._largest is None else torch.maximum(self._largest, largest)

    def take(self, accelerator: Any) -> dict[str, float]:
        """The figures since the last call, over all processes (which must call together).

        Empty after no `add`; NaN where no token's log-probability is known.
        """
        if self._sums is None or self._largest is None:
            return {}
        known, tokens, distance, ratio, kl = accelerator.reduce(self._sums, reduction="sum").tolist()
        largest = accelerator.gather(self._largest.reshape(1)).max().item()
        self._sums = self._largest = None
        none = float("nan")
        return {
            "sampler/gap": distance / known if known else none,
            "sampler/gap_max": largest if known else none,
            "sampler/ratio": ratio / known if known else none,
            "sampler/kl": kl / known if known else none,
            "sampler/unknown": 1 - known / tokens if tokens else none,
        }
