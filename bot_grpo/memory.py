"""How much memory a run takes, part by part, from sizes alone. Pure; bytes everywhere.

An estimate from rules of thumb that are said at each part, not a measurement: kernels' scratch space, fragments and the
frameworks themselves are one assumed number (`OVERHEAD_GPU`). It is meant to tell a run that fits from one that does
not, and which part to shrink.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from bot_grpo.architecture import Sizes

GIB = 2**30
OVERHEAD_GPU = 1.5 * GIB
"""Assumed: CUDA's context and libraries (about 0.5 GiB), and what the allocator holds in fragments."""
OVERHEAD_CPU = 1.0 * GIB
"""Assumed: Python with torch and transformers, and arenas of the allocator."""
TILE_TOKENS, TILE_WIDTH = 4096, 32768
"""TRL's fused head projects at most this many tokens onto this much of the vocabulary at a time."""
OWN_TILE = 2**25
"""Logits that the head here has at a time: `logprobs.TILE`, said again, for this module is to need no torch."""

Sampler = Literal["own", "colocate", "server"]
When = Literal["always", "sampling", "update"]


@dataclass(frozen=True)
class Plan:
    """What memory depends on, of one process.

    `rows` are sampled at a time, `micro_batch` are in an update's forward pass; `prompt` and `completion` are the most
    tokens they have. `vllm_bytes` is what a colocated vLLM reserves, `sleeps` whether it gives it back for the update.
    """

    weight_bytes: int = 4  # of one weight: float32 4, bfloat16 2
    lora_rank: int = 0
    autocast: bool = True
    checkpointing: bool = True
    eager: bool = False
    micro_batch: int = 1
    rows: int = 64
    prompt: int = 512
    completion: int = 1024
    reference: bool = False
    sampler: Sampler = "own"
    vllm_bytes: float = 0.0
    sleeps: bool = False
    processes: int = 1
    gpu: bool = True


@dataclass(frozen=True)
class Part:
    """One part: `when` it is there, and `how` it comes about."""

    name: str
    bytes: float
    when: When
    how: str


@dataclass(frozen=True)
class Estimate:
    """Weights, and the parts of one process's memory."""

    parameters: int
    trainable: int
    parts: tuple[Part, ...]

    def total(self, phase: Literal["sampling", "update"]) -> float:
        """Bytes in that phase of a step."""
        return sum(part.bytes for part in self.parts if part.when in ("always", phase))

    @property
    def peak(self) -> float:
        """Bytes of the phase that takes more."""
        return max(self.total("sampling"), self.total("update"))


def estimate(sizes: Sizes, plan: Plan) -> Estimate:
    """The parts of a run's memory in one process.

    Sampling and updating take turns. Optimizer states stay through both; gradients are freed in between.
    """
    trainable = sizes.lora(plan.lora_rank) if plan.lora_rank else sizes.parameters
    parts = [*_held(sizes, plan, trainable), *_update(sizes, plan, trainable), *_sampling(sizes, plan)]
    overhead = OVERHEAD_GPU if plan.gpu else OVERHEAD_CPU
    parts.append(Part("overhead", overhead, "always", "assumed: context, libraries, fragments"))
    return Estimate(sizes.parameters, trainable, tuple(part for part in parts if part.bytes))


def _held(sizes: Sizes, plan: Plan, trainable: int) -> list[Part]:
    """What stays: the weights, the adapter, AdamW's two states of each trained weight, and a reference policy.

    torch's AdamW keeps its states in the dtype of the weight. PEFT keeps adapters in float32. A reference for LoRA is
    the same weights with the adapter off.
    """
    one = 4 if plan.lora_rank else plan.weight_bytes  # bytes of a trained weight
    parts = [
        Part("weights", sizes.parameters * plan.weight_bytes, "always", f"{plan.weight_bytes} bytes a weight"),
        Part("optimizer", 2 * trainable * one, "always", f"AdamW: 2 x {one} bytes a trained weight"),
    ]
    if plan.lora_rank:
        parts.insert(1, Part("adapter", trainable * one, "always", "LoRA, float32"))
    elif plan.reference:
        parts.append(Part("reference", sizes.parameters * plan.weight_bytes, "always", "a second set of weights"))
    return parts


def _update(sizes: Sizes, plan: Plan, trainable: int) -> list[Part]:
    """Gradients, autocast's copies, activations, and what the head needs.

    With bf16 autocast each float32 weight has a bfloat16 copy for as long as a forward pass lasts.
    """
    one = 4 if plan.lora_rank else plan.weight_bytes
    cast = (sizes.parameters if plan.weight_bytes == 4 else 0) + (trainable if plan.lora_rank else 0)
    tokens = plan.micro_batch * (plan.prompt + plan.completion)
    layers = "one layer at a time, and the inputs of all" if plan.checkpointing else "all layers"
    tiled = plan.gpu or plan.processes > 1
    how = f"in tiles of {TILE_TOKENS} x {TILE_WIDTH}" if tiled else f"in tiles of {own_tile(sizes, plan)} tokens"
    return [
        Part("gradients", trainable * one, "update", f"{one} bytes a trained weight"),
        Part("autocast", 2 * cast if plan.autocast else 0, "update", "bfloat16 copies of float32 weights"),
        Part("activations", activations(sizes, plan), "update", f"{tokens} tokens, {layers}"),
        Part("logits", tiled_head(sizes, plan) if tiled else own_head(sizes, plan), "update", how),
    ]


def activations(sizes: Sizes, plan: Plan) -> float:
    """What the layers keep for the backward pass of a micro-batch.

    A layer keeps, a token: each norm's input, and in float32 its input and its result; the 16-bit inputs of the
    projections; queries and keys before and after rotation, values, keys and values repeated for the query heads, the
    attention's result; gate, up, SiLU(gate) and their product. LoRA keeps another 16-bit copy of each module's input,
    eager attention its scores in 16 and 32 bits. Checkpointed, only a layer's input is kept, and one layer at a time
    is computed anew.
    """
    tokens = plan.micro_batch * (plan.prompt + plan.completion)
    queries, keys = sizes.heads * sizes.head, sizes.kv_heads * sizes.head
    half = 2 if plan.autocast or plan.weight_bytes == 2 else 4
    stream = plan.weight_bytes  # the residual stream has the embedding's dtype
    norms = 2 * (stream + 8) * sizes.hidden
    attention = half * (sizes.hidden + 5 * queries + 3 * keys)
    inner = half * (sizes.hidden + 4 * sizes.inner)
    adapter = half * sum(inputs for inputs, _ in sizes.linear) if plan.lora_rank else 0
    scores = sizes.heads * (plan.prompt + plan.completion) * (half + 4) if plan.eager else 0
    layer = norms + attention + inner + adapter + scores
    if plan.checkpointing:
        return tokens * (sizes.layers * stream * sizes.hidden + layer)
    return tokens * sizes.layers * layer


def tiled_head(sizes: Sizes, plan: Plan) -> float:
    """TRL's fused head: a tile of logits, its weights in 16 bits, float32 gradients of the hidden states and, where the
    head is trained, of the head's weights."""
    tokens = plan.micro_batch * plan.completion
    width = min(TILE_WIDTH, sizes.vocabulary)
    tile = 2 * min(tokens, TILE_TOKENS) * width + 2 * width * sizes.hidden
    return tile + 4 * tokens * sizes.hidden + (0 if plan.lora_rank else 4 * sizes.embedding)


def own_tile(sizes: Sizes, plan: Plan) -> int:
    """Completion tokens whose logits are made at a time, on a CPU."""
    return max(1, min(plan.micro_batch * plan.completion, OWN_TILE // sizes.vocabulary))


def own_head(sizes: Sizes, plan: Plan) -> float:
    """The head of `logprobs.py`, on a CPU: a tile of logits in 16 bits, and in float32 as they are, scaled, as
    log-probabilities, twice for the entropy, and as a gradient. Then gradients of the hidden states and, where the head
    is trained, of its weights, in float32 and as a tile gives them."""
    tile = own_tile(sizes, plan) * sizes.vocabulary * (2 + 6 * 4)
    hidden = plan.weight_bytes * plan.micro_batch * plan.completion * sizes.hidden
    return tile + hidden + (0 if plan.lora_rank else (4 + plan.weight_bytes) * sizes.embedding)


def _sampling(sizes: Sizes, plan: Plan) -> list[Part]:
    """The sampler here: the KV cache of all rows at once, a step's logits, and with LoRA a second set of weights with
    the adapter folded in. vLLM in the same process: what it is told to reserve. vLLM's server: nothing, here."""
    if plan.sampler == "server":
        return []
    if plan.sampler == "colocate":
        when: When = "sampling" if plan.sleeps else "always"
        weights = 2 * sizes.parameters
        cache = max(0.0, plan.vllm_bytes - weights)
        return [
            Part("vLLM weights", weights, when, "2 bytes a weight"),
            Part("vLLM cache", cache, when, f"the rest of its share: at most {int(cache // sizes.kv_bytes):,} tokens"),
        ]
    width = 1 if plan.autocast or plan.weight_bytes == 2 else 2  # times 16 bits
    tokens = plan.rows * (plan.prompt + plan.completion)
    return [
        Part(
            "folded weights",
            sizes.parameters * plan.weight_bytes if plan.lora_rank else 0,
            "always",
            "a copy with the adapter folded in",
        ),
        Part("KV cache", width * tokens * sizes.kv_bytes, "sampling", f"{tokens:,} tokens"),
        Part(
            "next tokens", plan.rows * sizes.vocabulary * (2 + 3 * 4), "sampling", f"probabilities of {plan.rows} rows"
        ),
    ]
