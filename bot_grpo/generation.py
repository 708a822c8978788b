"""Sampling of rollouts on a CPU, through TRL's `rollout_func` hook.

`transformers.generate` repeats a group's prompt K times, carries finished rows to the end, and runs every LoRA layer
as three products. On two cores that is most of a training step. Here the adapter is folded into a copy of the weights
once a step, a group's prompt is computed once, and finished rows leave the batch. What is sampled is the same
distribution: softmax(logits / temperature) over the whole vocabulary. Evaluations use the same sampler, on any device,
with top_p and a seed for each row.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from peft import PeftModel
from peft.tuners.lora import LoraLayer
from torch import Tensor
from transformers import DynamicCache, PreTrainedModel
from transformers.cache_utils import DynamicLayer


class FoldedPolicy:
    """A LoRA policy with its adapter folded into a second set of weights; a plain model is used as it is."""

    def __init__(self, model: PreTrainedModel | PeftModel) -> None:
        self._peft = model if isinstance(model, PeftModel) else None
        self.model: Any = self._unadapted_copy(model) if isinstance(model, PeftModel) else model

    @staticmethod
    def _unadapted_copy(model: PeftModel) -> PreTrainedModel:
        base: Any = model.get_base_model()
        with torch.random.fork_rng(devices=[]):  # the weights that it begins with are random, and of no consequence
            twin = type(base)(copy.deepcopy(base.config)).to(base.device, base.dtype).eval()
        twin.requires_grad_(False)
        state = {k.replace(".base_layer.", "."): v for k, v in base.state_dict().items() if ".lora_" not in k}
        missing, unexpected = twin.load_state_dict(state, strict=False)
        untied = set(missing) - set(twin.all_tied_weights_keys)
        if untied or unexpected:
            raise RuntimeError(f"cannot fold this adapter: missing {sorted(untied)}, unexpected {sorted(unexpected)}")
        if twin.config._attn_implementation == "eager" and twin._supports_sdpa:
            twin.set_attn_implementation("sdpa")  # eager copies the shared keys once a query head, for every token
        return twin

    @torch.no_grad()
    def refresh(self) -> PreTrainedModel:
        """Fold the adapter's present weights in, and return the model to sample from."""
        if self._peft is not None:
            layers = dict(self.model.named_modules())
            adapted: Any = self._peft.get_base_model()
            loras: dict[str, Any] = {n: m for n, m in adapted.named_modules() if isinstance(m, LoraLayer)}
            for name, layer in loras.items():
                folded = layer.base_layer.weight.float()
                for adapter in layer.active_adapters:
                    folded = folded + layer.get_delta_weight(adapter).float()
                layers[name].weight.copy_(folded)
        return self.model


class RoomyLayer(DynamicLayer):
    """A layer's keys and values with room to spare: a token is written into it; `DynamicLayer` copies them all."""

    spare = 64  # tokens
    _rooms: tuple[Tensor, Tensor] | None = None

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """Append keys and values of shape (batch, heads, new tokens, size); returns all of them."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        assert self.keys is not None
        assert self.values is not None
        held = self.get_seq_length()
        total = held + key_states.size(-2)
        rooms = self._rooms
        moved = rooms is None or self.keys.data_ptr() != rooms[0].data_ptr()  # rows were repeated, or left
        if rooms is None or moved or rooms[0].size(-2) < total:
            shape = (*key_states.shape[:2], total + self.spare)
            keys = key_states.new_empty(*shape, key_states.size(-1))
            values = value_states.new_empty(*shape, value_states.size(-1))
            if held:
                keys[..., :held, :], values[..., :held, :] = self.keys, self.values
            self._rooms = rooms = keys, values
        rooms[0][..., held:total, :], rooms[1][..., held:total, :] = key_states, value_states
        self.keys, self.values = rooms[0][..., :total, :], rooms[1][..., :total, :]
        return self.keys, self.values


def _roomy_cache(model: PreTrainedModel) -> DynamicCache:
    cache = DynamicCache(config=model.config)
    cache.layers = [RoomyLayer() if type(layer) is DynamicLayer else layer for layer in cache.layers]
    return cache


class Samples(NamedTuple):
    """Completions, groups together, and the log-probability of each token under what it was drawn from."""

    ids: list[list[int]]
    logps: list[list[float]]


@torch.no_grad()
def sample_groups(
    model: PreTrainedModel,
    prompt_ids: list[list[int]],
    *,
    group_size: int,
    max_new_tokens: int,
    eos_token_ids: list[int],
    pad_token_id: int,
    temperature: float = 1.0,
    top_p: float = 1.0,
    generator: torch.Generator | None = None,
    seeds: Sequence[int] | None = None,
) -> Samples:
    """Sample `group_size` completions for each of P prompts: P * group_size of them.

    A completion ends with its EOS, or after `max_new_tokens` without one. `seeds` has one number a row: each row then
    has random numbers of its own, whatever other rows are in the batch and however long they stay.
    """
    rows = len(prompt_ids) * group_size
    out = Samples([[] for _ in range(rows)], [[] for _ in range(rows)])
    uniform_BT = None if seeds is None else row_draws(seeds, max_new_tokens).to(model.device)
    ids_PS, mask_PS = _left_pad(prompt_ids, pad_token_id, model.device)
    positions_PS = (mask_PS.cumsum(1) - 1).clamp(min=0)
    cache = _roomy_cache(model)
    first = model(
        input_ids=ids_PS,
        attention_mask=mask_PS,
        position_ids=positions_PS,
        past_key_values=cache,
        use_cache=True,
        # As an index, for it copies; with a slice's strides torch expands the head's weights to one copy a prompt.
        logits_to_keep=torch.tensor([-1], device=model.device),
    )
    cache.batch_repeat_interleave(group_size)
    mask_BS = mask_PS.repeat_interleave(group_size, 0)
    position_B = positions_PS[:, -1].repeat_interleave(group_size, 0)
    logits_BV = first.logits[:, -1].repeat_interleave(group_size, 0)
    alive = torch.arange(rows, device=model.device)
    eos = torch.tensor(eos_token_ids, device=model.device)

    for step in range(max_new_tokens):
        uniform_B = None if uniform_BT is None else uniform_BT[alive, step]
        token_B, prob_B = _draw(logits_BV, temperature, generator, top_p, uniform_B)
        for row, token, logp in zip(alive.tolist(), token_B.tolist(), prob_B.log().tolist(), strict=True):
            out.ids[row].append(token)
            out.logps[row].append(logp)
        going = (~torch.isin(token_B, eos)).nonzero()[:, 0]
        if step + 1 == max_new_tokens or going.numel() == 0:
            break
        if going.numel() < alive.numel():
            cache.batch_select_indices(going)
            alive, token_B, mask_BS, position_B = alive[going], token_B[going], mask_BS[going], position_B[going]
        mask_BS = torch.cat([mask_BS, mask_BS.new_ones(mask_BS.size(0), 1)], dim=1)
        position_B = position_B + 1
        step_out = model(
            input_ids=token_B[:, None],
            attention_mask=mask_BS,
            position_ids=position_B[:, None],
            past_key_values=cache,
            use_cache=True,
        )
        logits_BV = step_out.logits[:, -1]
    return out


def seeds_of(key: Sequence[int], rows: Sequence[int]) -> list[int]:
    """A seed for each row number, which depends on that number and on `key` alone."""
    return [int(np.random.SeedSequence([*key, row]).generate_state(1, np.uint64)[0]) >> 1 for row in rows]


def row_draws(seeds: Sequence[int], draws: int) -> Tensor:
    """`draws` numbers in [0, 1) a row, from a generator of the row's own: (rows, draws) float32, alike everywhere."""
    return torch.stack([torch.rand(draws, generator=torch.Generator().manual_seed(seed)) for seed in seeds])


def sample_tokens(
    logits_BV: Tensor,
    temperature: float,
    generator: torch.Generator | None = None,
    *,
    top_p: float = 1.0,
    uniform_B: Tensor | None = None,
) -> Tensor:
    """One token a row from softmax(logits / temperature), by inverting the cumulative distribution.

    (`torch.multinomial` draws an exponential variate for every entry of the vocabulary, one after the other on a CPU;
    this draws one a row.) temperature 0 is the argmax; top_p below 1 leaves the fewest likeliest tokens that together
    have at least that probability. `uniform_B` are the rows' random numbers in [0, 1), else `generator` gives them.
    Returns (B,) int64.
    """
    return _draw(logits_BV, temperature, generator, top_p, uniform_B)[0]


def _draw(
    logits_BV: Tensor, temperature: float, generator: torch.Generator | None, top_p: float, uniform_B: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Tokens as `sample_tokens` gives them, and their probabilities, float32."""
    if temperature == 0:
        token_B = logits_BV.argmax(-1)
        return token_B, torch.ones_like(token_B, dtype=torch.float32)
    probs_BV = torch.softmax(logits_BV.float() / temperature, -1)
    if uniform_B is None:
        uniform_B = torch.rand(len(probs_BV), generator=generator, device=probs_BV.device)
    if top_p < 1:
        token_B, mass_B = _from_nucleus(probs_BV, top_p, uniform_B)
        return token_B, probs_BV.gather(-1, token_B[:, None])[:, 0] / mass_B
    cumulative_BV = probs_BV.cumsum(-1)
    token_B1 = torch.searchsorted(cumulative_BV, uniform_B[:, None] * cumulative_BV[:, -1:], right=True)
    token_B1 = token_B1.clamp(max=logits_BV.size(-1) - 1)
    return token_B1[:, 0], probs_BV.gather(-1, token_B1)[:, 0]


def _from_nucleus(probs_BV: Tensor, top_p: float, uniform_B: Tensor, likeliest: int = 64) -> tuple[Tensor, Tensor]:
    """Tokens of the nucleus and its mass. It is seldom large, so more of the vocabulary is sorted only for the rows
    where it is."""
    width = min(likeliest, probs_BV.size(-1))
    probs_BK, ids_BK = probs_BV.topk(width, -1)
    cumulative_BK = probs_BK.cumsum(-1)
    size_B1 = (cumulative_BK < top_p).sum(-1, keepdim=True) + 1
    last_B1 = size_B1.clamp(max=width) - 1
    mass_B1 = cumulative_BK.gather(-1, last_B1)
    drawn_B1 = torch.searchsorted(cumulative_BK, uniform_B[:, None] * mass_B1, right=True)
    token_B, mass_B = ids_BK.gather(-1, torch.minimum(drawn_B1, last_B1))[:, 0], mass_B1[:, 0]
    wide = (size_B1[:, 0] > width).nonzero()[:, 0]
    if width < probs_BV.size(-1) and wide.numel():
        token_B[wide], mass_B[wide] = _from_nucleus(probs_BV[wide], top_p, uniform_B[wide], 16 * likeliest)
    return token_B, mass_B


def _left_pad(sequences: list[list[int]], pad: int, device: Any) -> tuple[Tensor, Tensor]:
    """Ids and mask, with at least one column of padding in one row on a CPU.

    Without any, transformers' sdpa attends with no mask and the keys of a group shared inside of torch's kernel
    (`enable_gqa`), which there takes seven times as long for one token as the way that it goes with a mask.
    """
    width = max(map(len, sequences))
    if torch.device(device).type == "cpu" and all(len(s) == width for s in sequences):
        width += 1
    ids = torch.tensor([[pad] * (width - len(s)) + s for s in sequences], device=device)
    mask = torch.tensor([[0] * (width - len(s)) + [1] * len(s) for s in sequences], device=device)
    return ids, mask


class GroupRollouts:
    """TRL `rollout_func`: (prompts, trainer) -> prompt_ids, completion_ids, logprobs of the completions' tokens.

    TRL hands over every prompt num_generations times in a row. Where a group straddles two processes each has a part of
    it, so rows share a prompt in runs of the greatest common divisor of the group's size and the number of rows.
    Each row has random numbers of its own (`trainer.row_seeds`): a batch is the same on any number of processes.
    """

    def __init__(self) -> None:
        self._policy: FoldedPolicy | None = None

    def __call__(self, prompts: list[Any], trainer: Any) -> dict[str, Any]:
        model = trainer.accelerator.unwrap_model(trainer.model)
        if self._policy is None:
            self._policy = FoldedPolicy(model)
        training = model.training
        size = trainer.num_generations if training else trainer.num_generations_eval
        prompt_ids, _, _ = trainer._tokenize_prompts(prompts)
        seeds = trainer.row_seeds(len(prompt_ids))  # before the model leaves training, which they depend on
        share = math.gcd(size, len(prompt_ids))
        if any(ids != prompt_ids[i - i % share] for i, ids in enumerate(prompt_ids)):
            share = 1
        model.eval()
        try:
            sampled = sample_groups(
                self._policy.refresh(),
                prompt_ids[::share],
                group_size=share,
                max_new_tokens=trainer.max_completion_length,
                eos_token_ids=list(trainer.eos_token_ids),
                pad_token_id=trainer._tokenizer.pad_token_id,
                temperature=trainer.temperature,
                seeds=seeds,
            )
        finally:
            model.train(training)
        return {"prompt_ids": prompt_ids, "completion_ids": sampled.ids, "logprobs": sampled.logps}
