"""Log-probabilities of completion tokens alone, and micro-batches of like lengths."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tiny_trainer import tiny_llama, with_lora
from transformers import (
    GraniteConfig,
    GraniteForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    Qwen2Config,
    Qwen2ForCausalLM,
)

from bot_grpo.logprobs import by_length, by_prompt, completion_logps, tiled_logps

PROMPT, WIDTH = 3, 5
LENGTHS_B = torch.tensor([5, 2, 0, 4])


@pytest.fixture
def batch() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    mask_BT = torch.arange(WIDTH)[None] < LENGTHS_B[:, None]
    ids_BS = torch.randint(0, 60, (4, PROMPT + WIDTH))
    attention_BS = torch.cat([torch.ones(4, PROMPT, dtype=torch.long), mask_BT.long()], dim=1)
    return ids_BS, attention_BS, mask_BT


@pytest.mark.parametrize("lora", [False, True])
@pytest.mark.parametrize("batch_size", [None, 3])
def test_they_are_those_of_the_whole_softmax(
    batch: tuple[torch.Tensor, torch.Tensor, torch.Tensor], lora: bool, batch_size: int | None
) -> None:
    ids_BS, attention_BS, mask_BT = batch
    model = with_lora(tiny_llama(), warm=True) if lora else tiny_llama()
    logps_BT, entropies_BT = completion_logps(
        model, ids_BS, attention_BS, mask_BT, temperature=0.7, batch_size=batch_size
    )
    logits_BTV = model(input_ids=ids_BS, attention_mask=attention_BS).logits[:, PROMPT - 1 : -1].float() / 0.7
    all_BTV = logits_BTV.log_softmax(-1)
    expected_BT = all_BTV.gather(-1, ids_BS[:, PROMPT:, None])[..., 0]
    torch.testing.assert_close(logps_BT, expected_BT * mask_BT, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(entropies_BT, -(all_BTV.exp() * all_BTV).sum(-1) * mask_BT, rtol=1e-4, atol=1e-5)
    assert logps_BT.requires_grad
    assert not entropies_BT.requires_grad


def test_a_model_that_scales_its_logits_is_scored_with_the_scaled_ones(
    batch: tuple[torch.Tensor, torch.Tensor, torch.Tensor],
) -> None:
    ids_BS, attention_BS, mask_BT = batch
    torch.manual_seed(0)
    sizes = {"vocab_size": 60, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 1}
    model = GraniteForCausalLM(GraniteConfig(**sizes, num_attention_heads=2, logits_scaling=0.1)).eval()
    logps_BT, _ = completion_logps(model, ids_BS, attention_BS, mask_BT)
    all_BTV = model(input_ids=ids_BS, attention_mask=attention_BS).logits[:, PROMPT - 1 : -1].log_softmax(-1)
    expected_BT = all_BTV.gather(-1, ids_BS[:, PROMPT:, None])[..., 0]
    torch.testing.assert_close(logps_BT, expected_BT * mask_BT, rtol=1e-5, atol=1e-5)


def test_the_gradient_is_that_of_the_whole_softmax(batch: tuple[torch.Tensor, torch.Tensor, torch.Tensor]) -> None:
    ids_BS, attention_BS, mask_BT = batch
    gradients = []
    for compact in (True, False):
        model = tiny_llama()
        if compact:
            logps_BT, _ = completion_logps(model, ids_BS, attention_BS, mask_BT)
        else:
            all_BTV = model(input_ids=ids_BS, attention_mask=attention_BS).logits[:, PROMPT - 1 : -1].log_softmax(-1)
            logps_BT = all_BTV.gather(-1, ids_BS[:, PROMPT:, None])[..., 0] * mask_BT
        logps_BT.sum().backward()
        gradients.append(torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None]))
    torch.testing.assert_close(gradients[0], gradients[1], rtol=1e-4, atol=1e-6)


def groups(width: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Six rows of three prompts, not next to one another and one of them padded; completions up to `width` tokens."""
    torch.manual_seed(0)
    which, lengths = torch.tensor([0, 1, 0, 1, 2, 0]), torch.tensor([9, 2, 0, 4, 9, 1]).clamp(max=width)
    mask_BT = torch.arange(width)[None] < lengths[:, None]
    padded_BP = torch.ones(6, 7, dtype=torch.long)
    padded_BP[which == 1, :3] = 0
    ids_BS = torch.cat([torch.randint(0, 60, (3, 7))[which] * padded_BP, torch.randint(0, 60, (6, width))], dim=1)
    return ids_BS, torch.cat([padded_BP, mask_BT.long()], dim=1), mask_BT


SIZES = {"vocab_size": 60, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4}


def model_of(kind: str) -> Any:
    torch.manual_seed(0)
    if kind == "mistral":  # keeps a window of keys and values only, so its rows go through whole
        return MistralForCausalLM(MistralConfig(**SIZES, num_key_value_heads=2, sliding_window=4))
    if kind == "qwen2":
        return Qwen2ForCausalLM(Qwen2Config(**SIZES, num_key_value_heads=2))
    model = tiny_llama()
    if kind == "checkpointing":
        model.train().gradient_checkpointing_enable()
    if kind == "eager":
        model.set_attn_implementation("eager")
    return with_lora(model, warm=True) if kind == "lora" else model


@pytest.mark.parametrize("width", [9, 1])
@pytest.mark.parametrize(
    ("kind", "shared"),
    [("llama", True), ("eager", True), ("lora", True), ("qwen2", True), ("mistral", False), ("checkpointing", False)],
)
def test_a_prompt_is_computed_once_and_nothing_else_changes(kind: str, shared: bool, width: int) -> None:
    ids_BS, attention_BS, mask_BT = groups(width)
    weight_BT = torch.randn(mask_BT.shape)
    found = []
    for batch_size in (None, 1):  # one row at a time there is nothing to share
        model, tokens = model_of(kind), []
        model.get_input_embeddings().register_forward_pre_hook(lambda _, given, to=tokens: to.append(given[0].numel()))
        logps_BT, entropies_BT = completion_logps(model, ids_BS, attention_BS, mask_BT, batch_size=batch_size)
        (logps_BT * weight_BT).sum().backward()
        slopes = torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])
        found.append((logps_BT, entropies_BT, slopes))
        whole = ids_BS.numel()
        assert sum(tokens) == (3 * 7 + 6 * (width - 1) if shared and batch_size is None else whole)
    for ours, theirs in zip(*found, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("trained", [False, True])
@pytest.mark.parametrize("rows", [1, 7, 40, 100])
def test_tiles_of_any_size_have_the_values_and_gradients_of_the_whole(trained: bool, rows: int) -> None:
    torch.manual_seed(0)
    hidden_NH = torch.randn(40, 16, requires_grad=True)
    weight_VH = torch.randn(1000, 16, requires_grad=trained)
    targets_N, factor_N = torch.randint(0, 1000, (40,)), torch.randn(40)
    leaves = [hidden_NH, weight_VH] if trained else [hidden_NH]
    seen = []

    def head(hidden: torch.Tensor) -> torch.Tensor:
        seen.append(len(hidden))
        return hidden @ weight_VH.T

    logps_N, entropy_N = tiled_logps(hidden_NH, targets_N, head, [weight_VH] if trained else [], tile=1000 * rows)
    gradients = torch.autograd.grad((factor_N * logps_N).sum(), leaves)
    assert max(seen) == min(rows, 40)  # never more logits than asked for
    all_NV = (hidden_NH @ weight_VH.T).log_softmax(-1)
    own_N = all_NV.gather(-1, targets_N[:, None])[:, 0]
    torch.testing.assert_close(logps_N, own_N, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(entropy_N, -(all_NV.exp() * all_NV).sum(-1), rtol=1e-5, atol=1e-5)
    for ours, whole in zip(gradients, torch.autograd.grad((factor_N * own_N).sum(), leaves), strict=True):
        assert (ours - whole).abs().max() <= 1e-5 * whole.abs().max()


def test_without_gradients_nothing_is_kept(batch: tuple[torch.Tensor, torch.Tensor, torch.Tensor]) -> None:
    with torch.no_grad():
        logps_BT, _ = completion_logps(tiny_llama(), *batch)
    assert logps_BT.grad_fn is None
    assert not logps_BT.requires_grad


def test_a_batch_without_a_token_has_zeros_and_a_gradient(
    batch: tuple[torch.Tensor, torch.Tensor, torch.Tensor],
) -> None:
    ids_BS, attention_BS, mask_BT = batch
    model = tiny_llama()
    logps_BT, entropies_BT = completion_logps(model, ids_BS, attention_BS, torch.zeros_like(mask_BT))
    logps_BT.sum().backward()
    assert not logps_BT.any()
    assert not entropies_BT.any()
    assert all(p.grad is None or not p.grad.any() for p in model.parameters())


def test_rows_of_like_length_come_together_and_none_is_lost() -> None:
    def part(lengths: list[int], first: int) -> dict[str, torch.Tensor]:
        mask_BT = (torch.arange(6)[None] < torch.tensor(lengths)[:, None]).long()
        return {"completion_mask": mask_BT, "row": torch.arange(first, first + len(lengths)), "scalar": torch.tensor(9)}

    out = by_length([part([1, 6], 0), part([5, 2], 2)])
    assert [b["completion_mask"].sum(1).tolist() for b in out] == [[6, 5], [2, 1]]
    assert [b["row"].tolist() for b in out] == [[1, 2], [3, 0]]
    assert all(b["scalar"].item() == 9 for b in out)


def test_rows_of_a_prompt_come_together_the_longest_completion_first() -> None:
    def part(prompts: list[int], lengths: list[int], first: int) -> dict[str, torch.Tensor]:
        mask_BT = (torch.arange(6)[None] < torch.tensor(lengths)[:, None]).long()
        ids_BP = torch.tensor(prompts)[:, None].repeat(1, 3)
        return {"prompt_ids": ids_BP, "completion_mask": mask_BT, "row": torch.arange(first, first + len(lengths))}

    out = by_prompt([part([7, 4, 7], [1, 6, 4], 0), part([4, 2, 2], [2, 3, 5], 3)])
    assert [b["row"].tolist() for b in out] == [[1, 3, 5], [4, 2, 0]]
    assert [b["prompt_ids"][:, 0].tolist() for b in out] == [[4, 4, 2], [2, 7, 7]]
    assert [b["completion_mask"].sum(1).tolist() for b in out] == [[6, 2, 5], [3, 4, 1]]
