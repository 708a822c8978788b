"""Log-probabilities of completion tokens on a CPU, where TRL's chunked head scores prompts and padding too.

Off CUDA, TRL's fused head projects every position of the batch onto the vocabulary, twice (its backward recomputes
each tile). With a vocabulary of 49,152 that is nearly half of a 135M model's update. Here only completions are
projected, a tile of tokens at a time (`_TiledLogps`), by the model's own forward pass: whatever it does to its logits
(scales them, caps them) is done. And rows that share a prompt share its forward and backward pass (`_from_prompts`);
`by_prompt` brings such rows together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer

PER_TOKEN = (
    *("completion_ids", "completion_mask", "advantages", "weights", "loss_mask"),
    *("old_per_token_logps", "ref_per_token_logps", "sampling_per_token_logps"),
)
TILE = 2**25
"""Logits at a time: 128 MB in float32."""

Context = Callable[[], AbstractContextManager[Any]]


def completion_logps(
    model: Any,
    ids_BS: Tensor,
    attention_BS: Tensor,
    mask_BT: Tensor,
    *,
    temperature: float = 1.0,
    autocast: Context = nullcontext,
    batch_size: int | None = None,
) -> tuple[Tensor, Tensor]:
    """log pi of each completion token, and the entropy (nats) of its distribution; 0 where the mask is.

    Args:
        model: a causal language model of transformers, or a `PeftModel` around one.
        ids_BS, attention_BS: prompt and completion together; the completion is the last T columns.
        mask_BT: true on completion tokens.
        temperature: logits are divided by it, as they were in sampling.
        autocast: the context of the forward pass.
        batch_size: rows a forward pass; None: all.

    Returns:
        logps_BT (differentiable) and entropies_BT (not), float32.
    """
    size = batch_size or len(ids_BS)
    parts = [
        _rows(model, ids, attention, mask.bool(), temperature, autocast)
        for ids, attention, mask in zip(ids_BS.split(size), attention_BS.split(size), mask_BT.split(size), strict=True)
    ]
    return torch.cat([logps for logps, _ in parts]), torch.cat([entropies for _, entropies in parts])


def _rows(
    model: Any, ids_BS: Tensor, attention_BS: Tensor, mask_BT: Tensor, temperature: float, autocast: Context
) -> tuple[Tensor, Tensor]:
    causal = model.get_base_model() if hasattr(model, "get_base_model") else model
    width = mask_BT.size(1)
    with autocast():
        body = _from_prompts(causal, ids_BS, attention_BS, width)
        if body is None:
            body = causal.base_model(input_ids=ids_BS, attention_mask=attention_BS, use_cache=False)
    hidden_NH = body.last_hidden_state[:, -width - 1 : -1][mask_BT]  # what predicts a token stands before it
    head = _Head(causal, body, temperature, autocast)
    own_N, entropy_N = tiled_logps(hidden_NH, ids_BS[:, -width:][mask_BT], head, head.trained)
    blank_BT = own_N.new_zeros(mask_BT.shape)
    return blank_BT.masked_scatter(mask_BT, own_N), blank_BT.masked_scatter(mask_BT, entropy_N)


def _from_prompts(causal: Any, ids_BS: Tensor, attention_BS: Tensor, width: int) -> Any:
    """The backbone's output from the prompts' last position on, each prompt computed once; None where that is no gain.

    Gradients reach a prompt through its keys and values, summed over its rows. Layers that keep anything else than all
    keys and values (a window, a state) are left to the plain forward pass, and so is activation checkpointing, under
    which transformers keeps nothing.
    """
    prompts_BP, mask_BP = ids_BS[:, :-width], attention_BS[:, :-width]
    _, prompt_B = torch.unique(torch.cat([prompts_BP, mask_BP], dim=1), dim=0, return_inverse=True)
    rows_U = [int((prompt_B == u).nonzero()[0]) for u in range(int(prompt_B.max()) + 1)]
    cache = DynamicCache(config=causal.config)
    plain = bool(cache.layers) and all(type(layer) is DynamicLayer for layer in cache.layers)
    checkpointing = any(getattr(module, "gradient_checkpointing", False) for module in causal.modules())
    if len(rows_U) == len(ids_BS) or not plain or checkpointing:
        return None
    backbone = causal.base_model
    body = backbone(input_ids=prompts_BP[rows_U], attention_mask=mask_BP[rows_U], past_key_values=cache, use_cache=True)
    last_B1H = body.last_hidden_state[:, -1:][prompt_B]
    if width > 1:  # the last token predicts nothing
        cache.batch_select_indices(prompt_B)
        ids_BT, attention_BT = ids_BS[:, -width:-1], attention_BS[:, :-1]
        body = backbone(input_ids=ids_BT, attention_mask=attention_BT, past_key_values=cache, use_cache=True)
        last_B1H = torch.cat([last_B1H, body.last_hidden_state], dim=1)
    shown = {name: value for name, value in body.items() if name not in ("past_key_values", "cache")}
    # One column more at the end, so that it reads as the output for whole rows does.
    return type(body)(**{**shown, "last_hidden_state": torch.nn.functional.pad(last_B1H, (0, 0, 0, 1))})


class _Given(torch.nn.Module):
    """Stands where a model's backbone stands, and gives what the backbone has given."""

    def __init__(self, output: Any) -> None:
        super().__init__()
        self.output = output

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.output


class _Head:
    """From hidden states (N, H) to scaled logits (N, V) in float32: the model's forward pass from its backbone on."""

    def __init__(self, causal: Any, body: Any, temperature: float, autocast: Context) -> None:
        self._causal, self._body, self._temperature, self._autocast = causal, body, temperature, autocast
        self.trained = [p for p in causal.get_output_embeddings().parameters() if p.requires_grad]

    def __call__(self, hidden_NH: Tensor) -> Tensor:
        name, backbone = self._causal.base_model_prefix, self._causal.base_model
        given = _Given(type(self._body)(**{**self._body, "last_hidden_state": hidden_NH[None]}))
        setattr(self._causal, name, given)
        try:
            with self._autocast():
                logits_NV = self._causal(use_cache=False).logits[0]
        finally:
            setattr(self._causal, name, backbone)
        return logits_NV.float() / self._temperature


def tiled_logps(
    hidden_NH: Tensor, targets_N: Tensor, head: Callable[[Tensor], Tensor], trained: list[Tensor], *, tile: int = TILE
) -> tuple[Tensor, Tensor]:
    """log pi of N targets (differentiable), and the entropies (not), with never more than `tile` logits in memory.

    `head` gives logits (n, V) of hidden states (n, H), each of its own row alone; `trained` are the leaf tensors in it
    that are to have a gradient.
    """
    vocabulary = head(hidden_NH[:0].detach()).size(-1)
    return _TiledLogps.apply(hidden_NH, targets_N, head, max(1, tile // vocabulary), *trained)


class _TiledLogps(torch.autograd.Function):
    """The logits of a tile of tokens are made, used and forgotten.

    Where the head is frozen, nothing is computed twice: the gradient of a token's log-probability with respect to its
    hidden state is taken along in the forward pass, and in the backward pass it only has to be scaled, for a token's
    logits depend on its own hidden state alone. Where the head is trained, the backward pass computes each tile anew.
    """

    @staticmethod
    def forward(
        ctx: Any, hidden_NH: Tensor, targets_N: Tensor, head: Callable[[Tensor], Tensor], rows: int, *trained: Tensor
    ) -> tuple[Tensor, Tensor]:
        frozen = ctx.needs_input_grad[0] and not trained
        logps, entropies, slopes = [], [], []
        for hidden, targets in zip(hidden_NH.split(rows), targets_N.split(rows), strict=True):
            with torch.set_grad_enabled(frozen):
                leaf = hidden.detach().requires_grad_(frozen)
                all_NV = head(leaf).log_softmax(-1)
                own_N = all_NV.gather(-1, targets[:, None])[:, 0]
            logps.append(own_N.detach())
            entropies.append(_entropy(all_NV.detach()))
            if frozen:
                slopes += torch.autograd.grad(own_N, leaf, torch.ones_like(own_N))
            del all_NV, own_N  # or they stay until the next tile has its own
        ctx.head, ctx.rows = head, rows
        ctx.save_for_backward(torch.cat(slopes) if frozen else hidden_NH, targets_N, *trained)
        entropy_N = torch.cat(entropies)
        ctx.mark_non_differentiable(entropy_N)
        return torch.cat(logps), entropy_N

    @staticmethod
    def backward(ctx: Any, grad_N: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        kept_NH, targets_N, *trained = ctx.saved_tensors
        if not trained:
            return (kept_NH * grad_N[:, None]).to(kept_NH.dtype), None, None, None
        sums = [torch.zeros_like(weight, dtype=torch.float32) for weight in trained]
        down = []
        tiles = (x.split(ctx.rows) for x in (kept_NH, targets_N, grad_N))
        for hidden, targets, grad in zip(*tiles, strict=True):
            with torch.enable_grad():
                leaf = hidden.detach().requires_grad_()
                own_N = ctx.head(leaf).log_softmax(-1).gather(-1, targets[:, None])[:, 0]
            first, *others = torch.autograd.grad(own_N, (leaf, *trained), grad)
            down.append(first)
            for total, other in zip(sums, others, strict=True):
                total += other
        return torch.cat(down), None, None, None, *(s.to(w.dtype) for s, w in zip(sums, trained, strict=True))


def _entropy(logps_NV: Tensor) -> Tensor:
    return -(logps_NV.exp() * logps_NV).sum(-1)


def by_length(batches: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same rows in as many micro-batches of the same sizes, the longest completions first."""
    return _in_order(batches, _lengths(batches).argsort(descending=True, stable=True))


def by_prompt(batches: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """As `by_length`, but a prompt's rows together, prompts in the order of their longest completions."""
    lengths_B = _lengths(batches)
    _, prompt_B = torch.unique(torch.cat([b["prompt_ids"] for b in batches]), dim=0, return_inverse=True)
    longest_U = torch.zeros_like(lengths_B[: int(prompt_B.max()) + 1]).scatter_reduce(0, prompt_B, lengths_B, "amax")
    order_B = lengths_B.argsort(descending=True, stable=True)
    for key_B in (prompt_B, -longest_U[prompt_B]):  # the last key is the first to sort by
        order_B = order_B[key_B[order_B].argsort(stable=True)]
    return _in_order(batches, order_B)


def _lengths(batches: list[dict[str, Any]]) -> Tensor:
    return torch.cat([b["completion_mask"].sum(1) for b in batches])


def _in_order(batches: list[dict[str, Any]], order_B: Tensor) -> list[dict[str, Any]]:
    """Tensors of (rows, ...) reordered; what has no rows (a scalar, None) stays in the micro-batch that it is in."""
    sizes = [len(b["completion_mask"]) for b in batches]
    out: list[dict[str, Any]] = [dict(b) for b in batches]
    for name, first in batches[0].items():
        if isinstance(first, Tensor) and first.dim() > 0 and len(first) == sizes[0]:
            whole = torch.cat([b[name] for b in batches])[order_B]
            for part, rows in zip(out, whole.split(sizes), strict=True):
                part[name] = rows
    return out


def without_padding(batch: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Cut the columns which are padding in every row of this micro-batch: they cost time and change nothing."""
    width = max(1, int(batch["completion_mask"].sum(1).max()))
    start = int(batch["prompt_mask"].size(1) - batch["prompt_mask"].sum(1).max())
    cut = {name: batch[name][:, :width] for name in PER_TOKEN if batch.get(name) is not None}
    return dict(batch) | cut | {name: batch[name][:, start:] for name in ("prompt_ids", "prompt_mask")}
