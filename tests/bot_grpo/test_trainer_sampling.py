"""The sampler: the folded policy is the policy, samples follow softmax, groups share their prompt, rows leave."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import tiny_trainer as tiny
import torch

from bot_grpo.generation import FoldedPolicy, GroupRollouts, RoomyLayer, sample_groups, sample_tokens

PROMPTS = [[65, 66, 67, 68], [70], [80, 81]]


def generate(model: Any, prompts: list[list[int]] = PROMPTS, **changes: Any) -> list[list[int]]:
    settings = {
        "group_size": 4,
        "max_new_tokens": 8,
        "eos_token_ids": [tiny.EOS],
        "pad_token_id": tiny.PAD,
        "generator": torch.Generator().manual_seed(0),
    }
    return sample_groups(model, prompts, **(settings | changes)).ids


# -- the folded policy ------------------------------------------------------------------------------------------------


def logits(model: Any) -> torch.Tensor:
    with torch.no_grad():
        return model(input_ids=torch.arange(60, 76)[None]).logits


def test_folded_weights_give_the_adapters_logits_and_follow_it() -> None:
    policy = tiny.with_lora(tiny.tiny_llama(), warm=True).eval()
    folded = FoldedPolicy(policy)
    without = logits(tiny.tiny_llama())
    first = logits(folded.refresh())
    torch.testing.assert_close(first, logits(policy), atol=1e-5, rtol=1e-5)
    assert (first - without).abs().max() > 0.01, "the adapter must matter for this test"
    with torch.no_grad():
        for name, parameter in policy.named_parameters():
            if "lora_A" in name:
                parameter.mul_(-1.5)
    torch.testing.assert_close(logits(folded.refresh()), logits(policy), atol=1e-5, rtol=1e-5)
    assert (logits(folded.model) - first).abs().max() > 0.01


def test_folding_leaves_the_policy_and_the_random_numbers_alone() -> None:
    policy = tiny.with_lora(tiny.tiny_llama(), warm=True)
    before, state = tiny.weights(policy), torch.get_rng_state()
    folded = FoldedPolicy(policy)
    folded.refresh()
    assert torch.get_rng_state().equal(state)
    assert tiny.distance(before, tiny.weights(policy)) == 0.0
    assert not any(p.requires_grad for p in folded.model.parameters())


def test_only_the_active_adapter_is_folded() -> None:
    policy = tiny.with_lora(tiny.tiny_llama(), warm=True)
    policy.add_adapter("ref", policy.peft_config["default"])
    torch.testing.assert_close(logits(FoldedPolicy(policy).refresh()), logits(policy.eval()), atol=1e-5, rtol=1e-5)


def test_a_model_without_an_adapter_is_sampled_from_as_it_is() -> None:
    model = tiny.tiny_llama()
    assert FoldedPolicy(model).refresh() is model


# -- what is sampled --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("temperature", [0.7, 1.0, 2.0])
def test_tokens_follow_softmax(temperature: float) -> None:
    """Chi-square on 8 tokens; a fixed generator, so the verdict is the same every time."""
    row = torch.tensor([2.0, -1.0, 0.5, 0.0, 1.0, -3.0, 0.3, 1.7])
    draws = 40_000
    tokens = sample_tokens(row.expand(draws, 8), temperature, torch.Generator().manual_seed(1))
    seen = torch.bincount(tokens, minlength=8).double()
    want = torch.softmax(row.double() / temperature, 0) * draws
    statistic = ((seen - want).square() / want).sum()
    assert statistic < 24.3  # the 0.1 % point of chi-square with 7 degrees of freedom


def test_tokens_of_no_probability_are_never_sampled_and_ties_at_0_take_the_first() -> None:
    row = torch.full((5000, 5), -torch.inf)
    row[:, 2], row[:, 4] = 0.0, 1.0
    assert set(sample_tokens(row, 1.0, torch.Generator().manual_seed(2)).tolist()) == {2, 4}
    assert sample_tokens(torch.tensor([[0.0, 3.0, 1.0]]), 0.0).tolist() == [1]


def test_first_tokens_of_a_group_follow_the_models_own_softmax() -> None:
    """Through the whole sampler, on a vocabulary of 6: what is drawn is the model's distribution after the prompt."""
    model = tiny.tiny_llama(vocabulary=6, scale=12.0)
    out = generate(model, [[1, 2, 3]], group_size=4000, max_new_tokens=1, eos_token_ids=[5], pad_token_id=0)
    seen = torch.bincount(torch.tensor(out)[:, 0], minlength=6).double()
    with torch.no_grad():
        want = 4000 * model(input_ids=torch.tensor([[1, 2, 3]])).logits[0, -1].double().softmax(0)
    assert want.max() / want.min() > 2, "a flat distribution proves little"
    assert ((seen - want).square() / want).sum() < 20.5  # the 0.1 % point with 5 degrees of freedom


def test_prompts_of_one_length_take_the_fast_way_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a mask transformers lets torch's kernel share the keys, which on a CPU takes several times as long."""
    model = tiny.tiny_llama(shared_keys=True)
    expected = generate(model, [[65, 66], [70, 71]])
    model.set_attn_implementation("sdpa")
    real, seen = torch.nn.functional.scaled_dot_product_attention, []

    def attend(*args: Any, **kwargs: Any) -> torch.Tensor:
        seen.append(kwargs.get("enable_gqa", False))
        return real(*args, **kwargs)

    monkeypatch.setattr(torch.nn.functional, "scaled_dot_product_attention", attend)
    assert generate(model, [[65, 66], [70, 71]]) == expected
    assert len(seen) > 8
    assert not any(seen)


def test_the_same_seed_gives_the_same_samples_and_another_seed_others() -> None:
    model = tiny.tiny_llama()
    first = generate(model)
    assert generate(model) == first
    assert generate(model, generator=torch.Generator().manual_seed(1)) != first
    assert len({tuple(ids) for ids in first}) > 6, "rollouts of a group must differ"


@pytest.mark.parametrize("spare", [0, 3, 64])
def test_greedy_answers_are_those_of_transformers_with_and_without_sharing(
    spare: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Left padding, the shared prompt and the cut, growing cache change nothing: each prompt alone gives the same."""
    monkeypatch.setattr(RoomyLayer, "spare", spare)
    model = tiny.tiny_llama(tied=False)
    together = generate(model, temperature=0.0, group_size=3)
    for i, prompt in enumerate(PROMPTS):
        ids = torch.tensor([prompt])
        alone = model.generate(
            ids, attention_mask=torch.ones_like(ids), max_new_tokens=8, do_sample=False, eos_token_id=tiny.EOS
        )[0, len(prompt) :].tolist()
        assert together[3 * i : 3 * i + 3] == [alone] * 3
    repeated = [p for p in PROMPTS for _ in range(3)]
    assert generate(model, repeated, temperature=0.0, group_size=1) == together


def test_rows_that_are_finished_leave_the_batch() -> None:
    """Half of the vocabulary ends a completion, so rows finish one by one, and each forward pass has the rest only."""
    model = tiny.tiny_llama()
    sizes: list[int] = []
    hook = model.register_forward_pre_hook(
        lambda module, args, kwargs: sizes.append(len(kwargs["input_ids"])), with_kwargs=True
    )
    eos = list(range(0, 258, 2))
    out = generate(model, eos_token_ids=eos, max_new_tokens=16)
    hook.remove()
    going = [sum(len(ids) > t for ids in out) for t in range(1, 16)]
    assert sizes == [len(PROMPTS)] + [n for n in going if n]
    assert sizes[1] < len(out)
    for ids in out:
        assert not set(ids[:-1]) & set(eos)
        assert ids[-1] in eos or len(ids) == 16


def test_a_rows_samples_do_not_depend_on_who_has_left() -> None:
    """Rows keep their own cache when others leave: continuing each one alone, greedily, gives its tokens."""
    model = tiny.tiny_llama(tied=False)
    free = generate(model, temperature=0.0, group_size=1, max_new_tokens=8)
    ends = [free[0][3]]  # an EOS that ends the first row early, wherever it comes in the others
    cut = generate(model, temperature=0.0, group_size=1, max_new_tokens=8, eos_token_ids=ends)
    for whole, part in zip(free, cut, strict=True):
        stop = whole.index(ends[0]) + 1 if ends[0] in whole else len(whole)
        assert part == whole[:stop]
    assert len(cut[0]) == 4
    assert max(map(len, cut)) > 4


# -- as TRL's rollout_func --------------------------------------------------------------------------------------------


def stand_in(model: Any, *, group: int) -> Any:
    """The parts of a trainer that GroupRollouts reads."""
    tokenizer = tiny.byte_tokenizer()
    return SimpleNamespace(
        accelerator=SimpleNamespace(unwrap_model=lambda m: m),
        model=model,
        num_generations=group,
        num_generations_eval=1,
        max_completion_length=4,
        temperature=1.0,
        eos_token_ids=[tiny.EOS],
        row_seeds=lambda rows: list(range(rows)),
        _tokenizer=tokenizer,
        _tokenize_prompts=lambda prompts: (tokenizer(prompts)["input_ids"], None, {}),
    )


@pytest.mark.parametrize("prompts", [["a"] * 4 + ["b"] * 4, ["a"] * 2 + ["b"] * 4, ["a"] * 4 + ["b"] * 2, ["a"] * 3])
def test_every_prompt_gets_its_own_completions_even_where_a_group_is_cut(prompts: list[str]) -> None:
    """A process may hold a part of a group; TRL hands over all its rows, in the order of groups."""
    model = tiny.tiny_llama().train()
    torch.manual_seed(0)
    out = GroupRollouts()(prompts, stand_in(model, group=4))
    assert out["prompt_ids"] == [[ord(p) - 33] for p in prompts]
    assert len(out["completion_ids"]) == len(prompts)
    assert all(1 <= len(ids) <= 4 for ids in out["completion_ids"])
    assert model.training


def test_an_evaluation_samples_once_a_prompt() -> None:
    out = GroupRollouts()(["a", "b", "c"], stand_in(tiny.tiny_llama().eval(), group=4))
    assert [len(out[name]) for name in ("prompt_ids", "completion_ids")] == [3, 3]


# -- top_p, and a seed a row ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("top_p", [0.5, 0.8, 0.95, 0.999])
@pytest.mark.parametrize("vocabulary", [8, 300])
def test_a_nucleus_is_the_fewest_likeliest_tokens_and_keeps_their_proportions(vocabulary: int, top_p: float) -> None:
    """Against a nucleus by a plain loop; with 300 nearly equal tokens it is wider than what is looked at first."""
    logits_V = torch.randn(vocabulary, generator=torch.Generator().manual_seed(3)) * (2.0 if vocabulary == 8 else 0.3)
    probs, mass, nucleus = torch.softmax(logits_V.double() / 0.7, 0), 0.0, []
    for token in probs.argsort(descending=True).tolist():
        nucleus.append(token)
        mass += float(probs[token])
        if mass >= top_p:
            break
    draws = 60_000
    tokens = sample_tokens(logits_V.expand(draws, vocabulary), 0.7, torch.Generator().manual_seed(4), top_p=top_p)
    seen = torch.bincount(tokens, minlength=vocabulary).double()
    assert set(tokens.unique().tolist()) == set(nucleus)
    want = draws * probs[nucleus] / mass
    statistic = float(((seen[nucleus] - want).square() / want).sum())
    degrees = len(nucleus) - 1
    assert statistic < degrees + 4 * (2 * max(degrees, 1)) ** 0.5 + 6


def test_a_rows_seed_gives_its_completion_whatever_batch_it_is_in() -> None:
    model = tiny.tiny_llama(tied=False)
    seeds = list(range(100, 112))
    settings = {"max_new_tokens": 12, "temperature": 0.8, "top_p": 0.9}
    together = generate(model, seeds=seeds, **settings)
    assert len({tuple(ids) for ids in together}) > 8
    for i, prompt in enumerate(PROMPTS):
        own = seeds[4 * i : 4 * i + 4]
        assert generate(model, [prompt], seeds=own, **settings) == together[4 * i : 4 * i + 4]
        backwards = generate(model, [prompt], seeds=own[::-1], **settings)
        assert backwards[::-1] == together[4 * i : 4 * i + 4]
    order = generate(model, PROMPTS[::-1], seeds=seeds[8:] + seeds[4:8] + seeds[:4], **settings)
    assert order == together[8:] + together[4:8] + together[:4]


def test_a_longer_limit_goes_on_with_the_same_tokens() -> None:
    model = tiny.tiny_llama(tied=False)
    short, long = (generate(model, seeds=list(range(12)), max_new_tokens=n, eos_token_ids=[9]) for n in (5, 20))
    assert [ids[:5] for ids in long] == short
