"""Local rewards from two language models: how much likelier one finds each token than the other does.

    q_t = beta * (log pi_phi(y_t | x, y_<t) - log pi_ref(y_t | x, y_<t))

phi is an implicit process reward model (PRIME, 2502.01456, section 3; Free Process Rewards, 2412.01981, Eq. 3), or any
model that DPO or the like trained from ref. Both read the text through phi's own tokenizer; what they say of its tokens
is handed on to the policy's tokens by their shares of characters, so that no reward is lost or made.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cross_entropy
from transformers import AutoModelForCausalLM

from reward_models.alignment import CharSpans
from reward_models.base import Answer, RewardSignal, Rollout, Span, Unscored
from reward_models.errors import RewardError
from reward_models.pretrained import batches, load_config, load_tokenizer, load_weights, padded
from reward_models.reading import TEMPLATES, Read, Reader
from reward_models.step_text import problem_of

_PROBE = ("Name a colour.", "The sky is blue, and 2 + 2 = 4.")


@dataclass
class ImplicitReward:
    """Scores each token by a pair of language models.

    Args:
        model: phi: a folder, or a hub id; None where `adapter` is given.
        reference: ref: the same, with the same tokenizer.
        adapter: a folder with a PEFT adapter for `reference`; phi is then the two together, and the weights are held
            once.
        beta: the scale. PRIME's code has 1 in its rewards and 0.05 in its loss; EurusPRM was trained with 0.001.
        mode: "difference": q_t. "cumulative": the sum of q up to the token, the model's value of what is written.
        bound: B; what a token gets is cut at it.
        template: "chat": the problem is a user's turn in the tokenizer's chat template. "plain": it stands by itself,
            with a line break after it. "auto": chat where there is such a template.
        max_tokens: how long problem and completion may be; None: the number of positions of phi. What is beyond gets 0.
        too_long: "window" scores what fits, "unscored" leaves the rollout out.
        batch_tokens: how many tokens, padding included, go into one forward pass, whose logits are all held.
        chunk_tokens: how many of those are turned into float32 log-probabilities at a time.
        outcome: also give an outcome G, "sum" or "mean" of q over phi's tokens; "none": local rewards alone.
        dtype, device: of the weights: auto (as they are), float32, bfloat16, float16; None is a GPU if there is one.
        self_test: whether phi and ref being the same model is an "error", a "warning", or not looked at ("off").

    Raises:
        RewardError: a setting that is none, models that cannot be loaded or do not go together.
    """

    reference: str
    model: str | None = None
    adapter: str | None = None
    beta: float = 0.05
    mode: str = "difference"
    bound: float = 1.0
    template: str = "auto"
    max_tokens: int | None = None
    too_long: str = "window"
    batch_tokens: int = 4096
    chunk_tokens: int = 256
    outcome: str = "none"
    dtype: str = "auto"
    device: str | None = None
    self_test: str = "error"
    spread: str = field(default="proportional", init=False)

    def __post_init__(self) -> None:
        self._check()
        phi = self.model or self.reference
        self._tokenizer = load_tokenizer(phi)
        config = load_config(phi)
        positions = getattr(config.get_text_config(), "max_position_embeddings", None)
        self._limit = int(self.max_tokens or positions or 4096)
        self._phi, self._ref, self._without_adapter = self._load()
        self._device = next(self._phi.parameters()).device
        self._reader = Reader(self._tokenizer, template=self.template, limit=self._limit)
        if self.self_test != "off":
            self._test_itself()

    def _check(self) -> None:
        for name, there in _CHOICES.items():
            if getattr(self, name) not in there:
                raise RewardError(f"{name} is one of {', '.join(there)}, not {getattr(self, name)!r}")
        if bool(self.model) == bool(self.adapter):
            raise RewardError("name phi: either a model of its own, or an adapter of the reference")
        for name in ("bound", "beta"):
            value = getattr(self, name)
            if not 0 < value < math.inf:
                raise RewardError(f"{name} is a number above 0, not {value!r}")

    def _load(self) -> tuple[Any, Any, Any]:
        """phi, ref, and a context in which phi is ref."""
        where: dict[str, Any] = {"dtype": self.dtype, "device": self.device}
        ref = load_weights(AutoModelForCausalLM, self.reference, **where)
        if self.adapter is None:
            assert self.model is not None
            phi = load_weights(AutoModelForCausalLM, self.model, **where)
            theirs = load_tokenizer(self.reference)
            if theirs.get_vocab() != self._tokenizer.get_vocab():
                raise RewardError(f"{self.model} and {self.reference} have different tokenizers: they are no pair")
            return phi, ref, nullcontext
        from peft import PeftModel

        if not (Path(self.adapter) / "adapter_config.json").exists():
            raise RewardError(f"{self.adapter} holds no adapter_config.json: it is no PEFT adapter")
        phi = PeftModel.from_pretrained(ref, self.adapter).eval()
        return phi, phi, phi.disable_adapter

    def score(self, rollouts: Sequence[Rollout]) -> list[Answer]:
        """One answer a rollout, in their order; local rewards as `tokens` where the rollout has ids, else as spans."""
        read = [self._read(r) for r in rollouts]
        ratios = self._ratios([r for r in read if isinstance(r, Read)])
        return [
            r if isinstance(r, Unscored) else self._signal(rollout, r, self.beta * ratios[r])
            for rollout, r in zip(rollouts, read, strict=True)
        ]

    def _read(self, rollout: Rollout) -> Read | Unscored:
        """Problem and completion in phi's tokens."""
        read = self._reader(problem_of(rollout), rollout.completion)
        if read.cut and (not read.spans or self.too_long == "unscored"):
            return Unscored(f"problem and completion do not fit: the models take {self._limit} tokens")
        return read

    def _ratios(self, inputs: Sequence[Read]) -> dict[Read, NDArray[np.float64]]:
        """log pi_phi - log pi_ref of each input's completion tokens. Equal inputs are fed once."""
        known: dict[Read, NDArray[np.float64]] = {}
        for batch in batches(dict.fromkeys(inputs), self._device, self.batch_tokens):
            ids_BT, mask_BT = padded([one.ids for one in batch], self._device)
            starts = [one.start for one in batch]
            ends = [len(one.ids) for one in batch]
            phi = self._logps(self._phi, ids_BT, mask_BT, starts, ends)
            with self._without_adapter():
                ref = self._logps(self._ref, ids_BT, mask_BT, starts, ends)
            for one, a, b in zip(batch, phi, ref, strict=True):
                known[one] = (a - b).double().cpu().numpy()
        return known

    @torch.inference_mode()
    def _logps(
        self, model: Any, ids_BT: Tensor, mask_BT: Tensor | None, starts: Sequence[int], ends: Sequence[int]
    ) -> list[Tensor]:
        """log pi of the tokens [start, end) of each row, float32, some of them at a time: the vocabulary is large."""
        first = min(starts) - 1  # what predicts a token stands before it
        keep = torch.arange(first, ids_BT.size(1), device=ids_BT.device)
        logits_BTV = model(input_ids=ids_BT, attention_mask=mask_BT, use_cache=False, logits_to_keep=keep).logits
        out = []
        for row, (start, end) in enumerate(zip(starts, ends, strict=True)):
            logits_NV, ids_N = logits_BTV[row, start - 1 - first : end - 1 - first], ids_BT[row, start:end]
            parts = [
                -cross_entropy(some_NV.float(), some_N, reduction="none")
                for some_NV, some_N in zip(
                    logits_NV.split(self.chunk_tokens), ids_N.split(self.chunk_tokens), strict=True
                )
            ]
            out.append(torch.cat(parts))
        return out

    def _signal(self, rollout: Rollout, read: Read, q: NDArray[np.float64]) -> Answer:
        if not np.isfinite(q).all():
            return Unscored("a log-probability of the models is not a number")
        tokens = rollout.spans or read.spans
        aligned_T = _aligned(q, read.spans, tokens)
        wanted_T = np.cumsum(aligned_T) if self.mode == "cumulative" else aligned_T
        local_T = np.clip(wanted_T, -self.bound, self.bound)
        local_T[[a == b for a, b in tokens]] = 0.0
        total = math.fsum(q)
        spans = [Span(a, b, float(v)) for (a, b), v in zip(tokens, local_T, strict=True) if a < b]
        return RewardSignal(
            outcome={"none": None, "sum": total, "mean": total / max(1, len(q))}[self.outcome],
            spans=() if rollout.spans else tuple(spans),
            metrics={
                "implicit/sum": total,
                "implicit/clipped": float((np.abs(wanted_T) > self.bound).mean()) if len(wanted_T) else 0.0,
                "implicit/too_long": float(read.cut),
            },
            tokens=tuple(map(float, local_T)) if rollout.spans else None,
        )

    def _test_itself(self) -> None:
        problem, completion = _PROBE
        read = self._read(Rollout(problem, completion))
        if isinstance(read, Unscored) or np.abs(self._ratios([read])[read]).max() > 0:
            return
        text = f"{self.adapter or self.model} and {self.reference} say the same of every token: all rewards would be 0"
        if self.self_test == "error":
            raise RewardError(text)
        warnings.warn(text, stacklevel=3)


def _aligned(q: NDArray[np.float64], spans: CharSpans, tokens: CharSpans) -> NDArray[np.float64]:
    """What is due to each of T tokens of the values q on other spans, by shares of characters; the sum is kept.

    As a function of the place in the text, the sum of q so far rises linearly over each span; a token gets what it
    rises by within the token. A value without a character goes to the next one that has some.
    """
    sums = np.cumsum(q)
    filled = [i for i, (a, b) in enumerate(spans) if a < b]
    if not filled:
        return np.zeros(len(tokens))
    places = [float(spans[filled[0]][0]), *(float(spans[i][1]) for i in filled)]
    heights = [0.0, *(float(sums[i]) for i in filled[:-1]), float(sums[-1])]
    edges = np.array([(a, b) for a, b in tokens], dtype=np.float64).reshape(-1, 2)
    rises: NDArray[np.float64] = np.interp(edges[:, 1], places, heights) - np.interp(edges[:, 0], places, heights)
    return rises


_CHOICES = {
    "mode": ("difference", "cumulative"),
    "template": TEMPLATES,
    "too_long": ("window", "unscored"),
    "outcome": ("none", "sum", "mean"),
    "self_test": ("error", "warning", "off"),
}
