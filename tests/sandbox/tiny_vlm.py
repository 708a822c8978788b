"""A vision-language model made on the spot: random weights, a tokenizer of bytes, real pictures in."""

from __future__ import annotations

from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import (
    CLIPVisionConfig,
    LlamaConfig,
    LlavaConfig,
    LlavaForConditionalGeneration,
    LlavaProcessor,
    PreTrainedTokenizerFast,
    set_seed,
)
from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil

_TEMPLATE = (
    "{% for m in messages %}{{ m['role'] }}: {% for p in m['content'] %}{% if p['type'] == 'image' %}<image>"
    "{% else %}{{ p['text'] }}{% endif %}{% endfor %}\n{% endfor %}assistant:"
)


def save_tiny_vlm(folder: Path) -> LlavaProcessor:
    """Write a LLaVA of 30 thousand weights to `folder`, as a server loads it, and return its processor."""
    set_seed(0)
    special = ["<s>", "</s>", "<pad>", "<image>"]
    vocabulary = {token: i for i, token in enumerate([*special, *sorted(pre_tokenizers.ByteLevel.alphabet())])}
    of_bytes = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    of_bytes.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    of_bytes.decoder = decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=of_bytes,
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<pad>",
        extra_special_tokens={"image_token": "<image>"},
    )
    processor = LlavaProcessor(
        image_processor=CLIPImageProcessorPil(size={"shortest_edge": 28}, crop_size={"height": 28, "width": 28}),
        tokenizer=tokenizer,
        patch_size=14,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=_TEMPLATE,
    )
    small = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = LlavaConfig(
        vision_config=CLIPVisionConfig(**small, image_size=28, patch_size=14, projection_dim=16),
        text_config=LlamaConfig(
            **small,
            vocab_size=len(tokenizer),
            num_key_value_heads=2,
            max_position_embeddings=8192,
            bos_token_id=0,
            eos_token_id=1,
            pad_token_id=2,
        ),
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
    )
    LlavaForConditionalGeneration(config).save_pretrained(folder)
    processor.save_pretrained(folder)
    return processor
