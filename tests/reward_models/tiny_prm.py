"""Process reward models of the public architectures, tiny and random, made on the spot, with real tokenizers."""

from __future__ import annotations

import copy
import json
import string
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from tokenizers.processors import TemplateProcessing
from torch import nn
from transformers import (
    AutoTokenizer,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2ForTokenClassification,
)

from bot_grpo.models import embedded_gguf
from reward_models.process_adapters import TwoClassModel, ValueHeadModel

CORPUS = [
    "We add the numbers. Then 3 + 4 = 7.\n\nSo (3 + 4) * 2 = 14.\n\nThe answer is 14.\n\n",
    "Step 1: Multiply 3 - 4 first (why?).\n\nStep 2: + is fine, - is not.\n\nThat's all.\n\n",
] * 20
ARCHITECTURES = {"qwen": "Qwen2ForProcessRewardModel", "skywork": "Qwen2ForPrmModel"}
LLAMA_TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n\n{{ m['content'] | trim }}<|im_end|>{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n\n{% endif %}"
)
"""As Llama 3's: contents are trimmed, and nothing follows the end of a turn."""


def smollm2() -> Any:
    """A real byte-level tokenizer, of the embedded model."""
    return copy.deepcopy(_smollm2())


@lru_cache(maxsize=1)
def _smollm2() -> Any:
    gguf = embedded_gguf()
    return AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)


def with_tag(*, special: bool = True) -> Any:
    """The same with Qwen's step tag as one token."""
    tokenizer = smollm2()
    tokenizer.add_tokens([AddedToken("<extra_0>", special=special, normalized=False)], special_tokens=special)
    return tokenizer


def merging() -> Any:
    """A byte-level tokenizer that has ".\\n\\n" as one token, as those of Qwen and Llama 3 do."""
    tokenizer = Tokenizer(models.BPE())
    pattern = r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(pattern), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<extra_0>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=600, special_tokens=special, initial_alphabet=alphabet)
    tokenizer.train_from_iterator(CORPUS, trainer)
    made = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|im_end|>", pad_token="<|endoftext|>")
    made.chat_template = smollm2().chat_template
    return made


def sentencepiece() -> Any:
    """A tokenizer of Llama 2's and Mistral's kind: "▁" for spaces and before the text, a BOS, "▁ки" as one token."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Metaspace(prepend_scheme="first"), pre_tokenizers.Split("\n", "isolated")]
    )
    bytes_ = [f"<0x{n:02X}>" for n in range(256)]
    alphabet = list("▁\nабвки+-=*/().,:?!'" + string.ascii_letters + string.digits)
    trainer = trainers.BpeTrainer(
        vocab_size=700, special_tokens=["<unk>", "<s>", "</s>", *bytes_], initial_alphabet=alphabet, max_token_length=8
    )
    tokenizer.train_from_iterator([line + "ки " * 5 + "+ a - b " * 5 for line in CORPUS], trainer)
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    bos = tokenizer.token_to_id("<s>")
    tokenizer.post_processor = TemplateProcessing(single="<s> $A", special_tokens=[("<s>", bos)])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", unk_token="<unk>", pad_token="</s>"
    )


def config(cls: Any, tokenizer: Any, **settings: Any) -> Any:
    """Two small layers. `initializer_range` is large, so that inputs make a difference."""
    small = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
    more = {"num_key_value_heads": 2, "max_position_embeddings": 512, "initializer_range": 0.4}
    return cls(**{**small, **more, "vocab_size": len(tokenizer), "tie_word_embeddings": False, **settings})


def made(kind: str, tokenizer: Any, folder: Path, *, seed: int = 0, scale: float = 1.0, **settings: Any) -> str:
    """A folder with a random model of the kind that an adapter is for. `scale`: of its head's weights."""
    torch.manual_seed(seed)
    if kind == "qwen":
        model: Any = TwoClassModel(config(Qwen2Config, tokenizer, **settings))
    elif kind == "skywork":
        model = ValueHeadModel(config(Qwen2Config, tokenizer, **settings))
    elif kind == "token_classifier":
        model = Qwen2ForTokenClassification(config(Qwen2Config, tokenizer, num_labels=2, **settings))
    else:
        model = LlamaForCausalLM(config(LlamaConfig, tokenizer, **settings))
    for name, parameter in model.named_parameters():
        if isinstance(parameter, nn.Parameter) and name.startswith(("score", "v_head", "lm_head")):
            parameter.data.mul_(scale)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    written = json.loads((folder / "config.json").read_text())
    if kind in ARCHITECTURES:  # as on the hub
        (folder / "config.json").write_text(json.dumps({**written, "architectures": [ARCHITECTURES[kind]]}))
    return str(folder)


def tokenizer_for(kind: str) -> Any:
    if kind == "qwen":
        return with_tag()
    if kind == "math_shepherd":
        return sentencepiece()
    tokenizer = smollm2()
    if kind == "rlhflow":
        tokenizer.chat_template = LLAMA_TEMPLATE
    return tokenizer


KINDS = ("qwen", "token_classifier", "skywork", "math_shepherd", "rlhflow")
