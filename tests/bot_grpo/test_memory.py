"""Parameters are counted as the real classes have them; memory is held to sums by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoConfig, AutoModelForCausalLM

from bot_grpo.architecture import KNOWN, PUBLISHED, config, from_config, sizes
from bot_grpo.errors import UserError
from bot_grpo.logprobs import TILE
from bot_grpo.memory import GIB, OVERHEAD_GPU, OWN_TILE, Estimate, Plan, activations, estimate, own_head, tiled_head

MODELS = {
    "HuggingFaceTB/SmolLM2-135M-Instruct": 134_515_008,
    "Qwen/Qwen2.5-3B-Instruct": 3_085_938_688,
    "HuggingFaceTB/SmolLM3-3B": 3_075_098_624,
    "microsoft/Phi-4-mini-instruct": 3_836_021_760,
    "microsoft/Phi-4-mini-reasoning": 3_836_021_760,
}
SMALL: dict[str, Any] = {
    "vocab_size": 97,
    "hidden_size": 32,
    "intermediate_size": 56,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "eos_token_id": 1,
    "bos_token_id": 1,
}


def on_meta(found: dict[str, Any]) -> Any:
    with torch.device("meta"):
        return AutoModelForCausalLM.from_config(AutoConfig.for_model(**found))


def count(model: Any) -> int:
    return sum(p.numel() for p in model.parameters())


@pytest.mark.parametrize("name", MODELS)
def test_published_sizes_count_as_the_real_class_does(name: str) -> None:
    assert sizes(name).parameters == count(on_meta(dict(config(name)))) == MODELS[name]


@pytest.mark.parametrize("kind", KNOWN)
@pytest.mark.parametrize("tied", [True, False])
def test_every_known_architecture_counts_as_its_class_does(kind: str, tied: bool) -> None:
    wide = {"head_dim": 24} if kind == "qwen3" else {}
    found = {**SMALL, "model_type": kind, "tie_word_embeddings": tied, **wide}
    assert from_config(found).parameters == count(on_meta(found))


@pytest.mark.parametrize("kind", KNOWN)
def test_lora_on_all_linear_layers_counts_as_peft_does(kind: str) -> None:
    found = {**SMALL, "model_type": kind, "tie_word_embeddings": True}
    model = get_peft_model(on_meta(found), LoraConfig(r=3, target_modules="all-linear", task_type="CAUSAL_LM"))
    assert from_config(found).lora(3) == sum(p.numel() for p in model.parameters() if p.requires_grad)


def test_lora_reaches_phis_fused_layers() -> None:
    model = get_peft_model(
        on_meta({**SMALL, "model_type": "phi3"}), LoraConfig(r=2, target_modules="all-linear", task_type="CAUSAL_LM")
    )
    adapted = {n.split(".")[-4] for n, p in model.named_parameters() if ".lora_A." in n}
    assert adapted == {"qkv_proj", "o_proj", "gate_up_proj", "down_proj"}


def test_a_folder_gives_its_own_sizes_and_what_is_unknown_is_one_line(tmp_path: Path) -> None:
    found = {**SMALL, "model_type": "smollm3"}
    (tmp_path / "config.json").write_text(json.dumps(found))
    assert sizes(str(tmp_path)).parameters == count(on_meta(found))
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "mamba"}))
    with pytest.raises(UserError, match="a mamba, whose sizes are not known"):
        sizes(str(tmp_path))
    with pytest.raises(UserError, match=r"cannot be had .*Qwen/Qwen2.5-3B-Instruct"):
        sizes(str(tmp_path / "nowhere"))


def test_the_shipped_configs_hold_numbers_and_no_more() -> None:
    assert PUBLISHED.stat().st_size < 8000
    assert {name for row in json.loads(PUBLISHED.read_text()) for name in row["models"]} >= set(MODELS)


def by_name(needs: Estimate) -> dict[str, float]:
    return {part.name: part.bytes for part in needs.parts}


def test_all_weights_in_float32_take_eighteen_bytes_each_while_updating() -> None:
    found = sizes("Qwen/Qwen2.5-3B-Instruct")
    parts = by_name(estimate(found, Plan(sampler="server")))
    held = parts["weights"] + parts["optimizer"] + parts["gradients"] + parts["autocast"]
    assert held == (4 + 8 + 4 + 2) * 3_085_938_688
    assert "adapter" not in parts
    assert "KV cache" not in parts


def test_an_adapter_takes_sixteen_bytes_a_weight_and_a_second_set_of_weights_to_sample() -> None:
    found = sizes("microsoft/Phi-4-mini-instruct")
    needs = estimate(found, Plan(weight_bytes=2, lora_rank=16, rows=64, prompt=200, completion=824))
    parts = by_name(needs)
    # a layer's modules: 3072 -> 5120, 3072 -> 3072, 3072 -> 16384, 8192 -> 3072
    adapter = 32 * 16 * ((3072 + 5120) + (3072 + 3072) + (3072 + 16384) + (8192 + 3072))
    assert needs.trainable == adapter
    assert parts["adapter"] + parts["optimizer"] + parts["gradients"] == 16 * adapter
    assert parts["weights"] == parts["folded weights"] == 2 * 3_836_021_760
    assert parts["KV cache"] == 64 * 1024 * (2 * 2 * 32 * 8 * 128)  # keys and values, 16 bits, layers, heads, width
    assert "reference" not in by_name(estimate(found, Plan(lora_rank=16, reference=True)))


def test_sampling_and_updating_take_turns() -> None:
    found = sizes("Qwen/Qwen2.5-3B-Instruct")
    asleep = estimate(found, Plan(sampler="colocate", vllm_bytes=24 * GIB, sleeps=True))
    awake = estimate(found, Plan(sampler="colocate", vllm_bytes=24 * GIB))
    parts = by_name(asleep)
    assert parts["vLLM weights"] + parts["vLLM cache"] == 24 * GIB
    stays = parts["weights"] + parts["optimizer"] + OVERHEAD_GPU
    assert asleep.total("sampling") == stays + 24 * GIB
    assert awake.total("update") - asleep.total("update") == pytest.approx(24 * GIB)
    assert asleep.peak == max(asleep.total("sampling"), asleep.total("update"))


def test_activations_and_logits_by_hand() -> None:
    found = sizes("Qwen/Qwen2.5-3B-Instruct")
    plan = Plan(micro_batch=2, prompt=100, completion=900)
    layer = 2 * (4 + 8) * 2048 + 2 * (2048 + 5 * 2048 + 3 * 256) + 2 * (2048 + 4 * 11008)
    assert activations(found, plan) == 2000 * (36 * 4 * 2048 + layer)
    assert activations(found, Plan(micro_batch=2, prompt=100, completion=900, checkpointing=False)) == 2000 * 36 * layer
    # a tile of logits, the head's weights of the tile, float32 gradients of hidden states and of the head
    tile = 2 * 1800 * 32768 + 2 * 32768 * 2048
    assert tiled_head(found, plan) == tile + 4 * 1800 * 2048 + 4 * 151936 * 2048
    assert tiled_head(found, Plan(micro_batch=2, completion=900, lora_rank=8)) == tile + 4 * 1800 * 2048
    own = Plan(micro_batch=2, completion=900, lora_rank=8, gpu=False)
    assert OWN_TILE == TILE
    assert own_head(found, own) == 220 * 151936 * 26 + 4 * 1800 * 2048
    assert own_head(found, plan) == own_head(found, own) + 8 * 151936 * 2048
    eager = activations(found, Plan(micro_batch=2, prompt=100, completion=900, eager=True))
    assert eager - activations(found, plan) == 2000 * 16 * 1000 * 6
