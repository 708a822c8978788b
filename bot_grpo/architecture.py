"""Sizes of decoder-only transformers, from the numbers in their configs: parameters are counted without any weights."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from bot_grpo.errors import UserError
from tasks.hub import lost

PUBLISHED = Path(__file__).with_name("architectures.json")
"""The published sizes of the recipes' models."""

KNOWN = ("llama", "mistral", "qwen2", "qwen3", "smollm3", "phi3")
_FUSED = {"phi3"}  # one layer for queries, keys and values, and one for gate and up


@dataclass(frozen=True)
class Sizes:
    """One architecture. `head` is a head's width, `context` the positions, `trained_on` LongRoPE's first ones."""

    kind: str
    vocabulary: int
    hidden: int
    inner: int
    layers: int
    heads: int
    kv_heads: int
    head: int
    tied: bool
    context: int
    trained_on: int | None = None

    @property
    def linear(self) -> list[tuple[int, int]]:
        """(inputs, outputs) of each linear module of a layer, as the model has them: what LoRA's all-linear covers."""
        queries, keys = self.heads * self.head, self.kv_heads * self.head
        into = [(self.hidden, queries), (self.hidden, keys), (self.hidden, keys)]
        up = [(self.hidden, self.inner)] * 2
        if self.kind in _FUSED:
            into, up = [(self.hidden, queries + 2 * keys)], [(self.hidden, 2 * self.inner)]
        return [*into, (queries, self.hidden), *up, (self.inner, self.hidden)]

    @property
    def embedding(self) -> int:
        """Weights of the embedding; with tied weights it is the head too."""
        return self.vocabulary * self.hidden

    @property
    def parameters(self) -> int:
        """All weights: `sum(p.numel() for p in model.parameters())` of the transformers class, to the number."""
        layer = sum(inputs * outputs for inputs, outputs in self.linear) + 2 * self.hidden  # two norms
        if self.kind == "qwen2":
            layer += (self.heads + 2 * self.kv_heads) * self.head  # biases of queries, keys, values
        if self.kind == "qwen3":
            layer += 2 * self.head  # norms of queries and keys
        return self.embedding * (1 if self.tied else 2) + self.layers * layer + self.hidden

    def lora(self, rank: int) -> int:
        """Weights of a LoRA adapter on all linear modules but the head."""
        return self.layers * sum(rank * (inputs + outputs) for inputs, outputs in self.linear)

    @property
    def kv_bytes(self) -> int:
        """Bytes of a token's keys and values in all layers, in 16 bits."""
        return 2 * 2 * self.layers * self.kv_heads * self.head


def sizes(name: str) -> Sizes:
    """The sizes of a model: of a published name, or else of the config in its folder or on the hub (no weights).

    Raises UserError: the config cannot be had, or the architecture is none of KNOWN.
    """
    return from_config(config(name), name)


def config(name: str) -> Mapping[str, Any]:
    """The config's numbers: the shipped ones, or those of a folder or a hub id. Raises UserError."""
    if name in _published():
        return _published()[name]
    file = Path(name).expanduser() / "config.json"
    try:
        if file.is_file():
            return dict(json.loads(file.read_text(encoding="utf-8")))
        if lost(name):
            raise OSError("no folder here, and the hub cannot be reached")
        from transformers import AutoConfig

        return dict(AutoConfig.from_pretrained(name).to_dict())
    except (OSError, ValueError, TypeError) as error:
        first = (str(error).strip().splitlines() or [type(error).__name__])[0][:160]
        raise UserError(
            f"the sizes of model {name!r} cannot be had ({first}); give a folder with its config.json, or one of: "
            + ", ".join(_published())
        ) from error


def from_config(found: Mapping[str, Any], name: str = "") -> Sizes:
    """Sizes from a transformers config. Raises UserError for an architecture that cannot be counted here."""
    kind = str(found.get("model_type"))
    if kind not in KNOWN:
        raise UserError(
            f"model {name!r} is a {kind}, whose sizes are not known here (known: {', '.join(KNOWN)}): "
            "run without --dry-run"
        )
    heads, hidden = int(found["num_attention_heads"]), int(found["hidden_size"])
    return Sizes(
        kind,
        int(found["vocab_size"]),
        hidden,
        int(found["intermediate_size"]),
        int(found["num_hidden_layers"]),
        heads,
        int(found.get("num_key_value_heads") or heads),
        int(found.get("head_dim") or (128 if kind == "qwen3" else hidden // heads)),  # as its config class has it
        bool(found.get("tie_word_embeddings", kind == "smollm3")),
        int(found["max_position_embeddings"]),
        int(found["original_max_position_embeddings"]) if found.get("original_max_position_embeddings") else None,
    )


@cache
def _published() -> Mapping[str, Mapping[str, Any]]:
    rows = json.loads(PUBLISHED.read_text(encoding="utf-8"))
    return {name: row["config"] for row in rows for name in row["models"]}
