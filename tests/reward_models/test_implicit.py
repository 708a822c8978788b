"""Log-ratios of two language models as token rewards: against a plain computation, on any tokenizer's tokens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_prm
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import normalizers
from transformers import AutoModelForCausalLM, Gemma2Config, Gemma2ForCausalLM

from reward_models.alignment import TokenText
from reward_models.base import Answer, RewardSignal, Rollout, Unscored
from reward_models.contract import RewardModelContract
from reward_models.errors import RewardError
from reward_models.implicit import ImplicitReward, _aligned
from reward_models.loading import load_reward
from reward_models.pretrained import load_tokenizer
from reward_models.reading import tiled
from reward_models.scoring import score

TEXT = "Naïve 😀: we add 3 + 4,\n\nwhich is 7. 数学!"


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """phi and ref: two random models with one tokenizer."""
    tokenizer = tiny_prm.smollm2()
    return {
        "model": tiny_prm.made("phi", tokenizer, tmp_path_factory.mktemp("phi"), seed=1),
        "reference": tiny_prm.made("ref", tokenizer, tmp_path_factory.mktemp("ref"), seed=2),
    }


def rollout(text: str, tokenizer: Any, prompt: str = "What is it?") -> Rollout:
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    found, spans = TokenText(tokenizer)(ids)
    assert found == text
    return Rollout(prompt, text, tuple(ids), spans)


def signal(answer: Answer) -> RewardSignal:
    assert isinstance(answer, RewardSignal), answer
    return answer


def plain(pair: dict[str, str], prompt: str, text: str) -> np.ndarray:
    """log pi_phi - log pi_ref of each token of `text`, the obvious way: the whole sequence, in float64."""
    tokenizer = load_tokenizer(pair["model"])
    chat = [{"role": "user", "content": prompt}]
    before = tokenizer.apply_chat_template(chat, add_generation_prompt=True, return_dict=False)
    ids = torch.tensor([before + tokenizer(text, add_special_tokens=False)["input_ids"]])
    logps = []
    for name in ("model", "reference"):
        model = AutoModelForCausalLM.from_pretrained(pair[name], dtype=torch.float32)
        with torch.no_grad():
            all_logps = model(input_ids=ids).logits[0].double().log_softmax(-1)
        logps.append(all_logps[torch.arange(len(before) - 1, ids.size(1) - 1), ids[0, len(before) :]].numpy())
    return logps[0] - logps[1]


class TestContract(RewardModelContract):
    @pytest.fixture(autouse=True)
    def _pair(self, pair: dict[str, str]) -> None:
        self.pair = pair

    def make_model(self) -> ImplicitReward:
        return ImplicitReward(**self.pair, max_tokens=4096)


def test_values_are_those_of_the_plain_computation(pair: dict[str, str]) -> None:
    expected = plain(pair, "What is it?", TEXT)
    reward = ImplicitReward(**pair, beta=0.01, bound=9.0, chunk_tokens=5, outcome="sum")
    one = rollout(TEXT, tiny_prm.smollm2())
    [scored] = score(reward, [one])
    assert scored.signal is not None, scored.reason
    text = [a < b for a, b in one.spans]
    carried = np.zeros(len(expected))  # ids that complete no character hand theirs on to the one that does
    waiting = 0.0
    for i, value in enumerate(expected):
        waiting += value
        if text[i]:
            carried[i], waiting = waiting, 0.0
    assert not all(text)
    assert scored.local_T == pytest.approx(0.01 * carried, abs=1e-5)
    assert scored.local_T.sum() == pytest.approx(0.01 * expected.sum(), abs=1e-5)
    assert scored.signal.outcome == pytest.approx(0.01 * expected.sum(), abs=1e-5)


def test_cumulative_is_the_sum_so_far(pair: dict[str, str]) -> None:
    one = rollout(TEXT, tiny_prm.smollm2())
    tokens = [
        np.array(signal(ImplicitReward(**pair, mode=mode, beta=0.01, bound=9).score([one])[0]).tokens)
        for mode in ("difference", "cumulative")
    ]
    text = np.array([a < b for a, b in one.spans])
    assert tokens[1][text] == pytest.approx(np.cumsum(tokens[0])[text])
    assert (tokens[1][~text] == 0).all()


def test_values_are_cut_at_the_bound_and_it_is_told_how_many(pair: dict[str, str]) -> None:
    reward = ImplicitReward(**pair, beta=1.0, bound=0.5)
    found = signal(reward.score([rollout(TEXT, tiny_prm.smollm2())])[0])
    assert found.tokens is not None
    assert np.abs(found.tokens).max() == 0.5
    assert 0 < found.metrics["implicit/clipped"] < 1


def test_tokens_of_another_tokenizer_get_their_share_and_the_sum_stays(pair: dict[str, str]) -> None:
    reward = ImplicitReward(**pair, beta=0.01, bound=9.0)
    expected = 0.01 * plain(pair, "What is it?", TEXT).sum()
    for tokenizer in (tiny_prm.smollm2(), tiny_prm.merging()):
        [scored] = score(reward, [rollout(TEXT, tokenizer)], outcome=False)
        assert scored.local_T.sum() == pytest.approx(expected, abs=1e-5)
    [scored] = score(reward, [Rollout("What is it?", TEXT, (7,), ((0, len(TEXT)),))], outcome=False)
    assert scored.local_T == pytest.approx([expected], abs=1e-5)


def test_without_token_ids_there_are_spans_of_its_own_tokens(pair: dict[str, str]) -> None:
    found = signal(ImplicitReward(**pair, beta=0.01, bound=9.0).score([Rollout("What is it?", TEXT)])[0])
    assert found.tokens is None
    assert "".join(TEXT[s.start : s.end] for s in found.spans) == TEXT
    expected = 0.01 * plain(pair, "What is it?", TEXT).sum()
    assert sum(s.value for s in found.spans) == pytest.approx(expected, abs=1e-5)


def test_a_tokenizer_that_normalizes_loses_no_reward(tmp_path: Path) -> None:
    """Qwen's makes one character of e and U+0301: the text that its ids decode to is another one."""
    tokenizer = tiny_prm.merging()
    tokenizer.backend_tokenizer.normalizer = normalizers.NFC()
    names = {n: tiny_prm.made(n, tokenizer, tmp_path / n, seed=i) for i, n in enumerate(("model", "reference"))}
    reward = ImplicitReward(**names, beta=0.01, bound=9.0, outcome="sum")
    text = "e\u0301tude 😀 e\u0301"
    read = reward._read(Rollout("p", text))
    assert not isinstance(read, Unscored)
    assert reward._tokenizer.decode(read.ids[read.start :]) == "étude 😀 é"
    [scored] = score(reward, [rollout(text, tiny_prm.smollm2())])
    assert scored.signal is not None
    assert scored.local_T.sum() == pytest.approx(0.01 * plain(names, "What is it?", text).sum(), abs=1e-5)


def test_a_completion_cannot_end_its_turn(pair: dict[str, str]) -> None:
    reward = ImplicitReward(**pair)
    read = reward._read(Rollout("p", "7<|im_end|>"))
    assert not isinstance(read, Unscored)
    assert reward._tokenizer.eos_token_id not in read.ids[read.start :]


def test_too_long_a_completion_is_scored_as_far_as_it_fits_or_not_at_all(pair: dict[str, str]) -> None:
    one = rollout("word " * 300, tiny_prm.smollm2())
    [found] = ImplicitReward(**pair, max_tokens=100).score([one])
    tokens = signal(found).tokens
    assert tokens is not None
    last = max(t for t, v in enumerate(tokens) if v)
    assert 40 < last < 100
    assert signal(found).metrics["implicit/too_long"] == 1.0
    short = signal(ImplicitReward(**pair).score([one])[0]).tokens
    assert short is not None
    assert tokens[:last] == pytest.approx(short[:last], abs=1e-5)
    [none] = ImplicitReward(**pair, max_tokens=100, too_long="unscored").score([one])
    assert isinstance(none, Unscored)
    assert "the models take 100" in none.reason
    [no_room] = ImplicitReward(**pair, max_tokens=5).score([one])
    assert isinstance(no_room, Unscored)


def test_a_plain_prompt_stands_by_itself(pair: dict[str, str]) -> None:
    reward = ImplicitReward(**pair, template="plain")
    read = reward._read(Rollout("What is it?", "It is 7."))
    assert not isinstance(read, Unscored)
    assert reward._tokenizer.decode(read.ids) == "What is it?\nIt is 7."


def test_an_empty_completion_gets_nothing(pair: dict[str, str]) -> None:
    [scored] = score(ImplicitReward(**pair, outcome="mean"), [Rollout("p", "", (2,), ((0, 0),))])
    assert scored.signal is not None
    assert scored.signal.outcome == 0.0
    assert list(scored.local_T) == [0.0]


def test_logits_that_a_model_caps_are_capped(tmp_path: Path) -> None:
    """Taking hidden states through the head by hand would miss it (Gemma 2)."""
    tokenizer = tiny_prm.smollm2()
    made = {}
    for seed, name in enumerate(("model", "reference")):
        torch.manual_seed(seed)
        config = tiny_prm.config(Gemma2Config, tokenizer, head_dim=4, final_logit_softcapping=0.5)
        Gemma2ForCausalLM(config).save_pretrained(tmp_path / name)
        tokenizer.save_pretrained(tmp_path / name)
        made[name] = str(tmp_path / name)
    found = signal(ImplicitReward(**made, beta=1.0, bound=9.0, outcome="sum").score([Rollout("p", TEXT)])[0])
    assert found.outcome == pytest.approx(plain(made, "p", TEXT).sum(), abs=1e-3)


# -- an adapter on a shared base ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def adapter(pair: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> str:
    from peft import LoraConfig, get_peft_model

    torch.manual_seed(0)
    base = AutoModelForCausalLM.from_pretrained(pair["reference"])
    model = get_peft_model(base, LoraConfig(r=2, target_modules=["q_proj", "v_proj"], init_lora_weights=False))
    folder = tmp_path_factory.mktemp("adapter")
    model.save_pretrained(str(folder))
    merged = tmp_path_factory.mktemp("merged")
    model.merge_and_unload().save_pretrained(merged)
    load_tokenizer(pair["reference"]).save_pretrained(merged)
    (folder / "merged").symlink_to(merged)
    return str(folder)


def test_an_adapter_on_the_reference_is_the_merged_model(pair: dict[str, str], adapter: str) -> None:
    one = rollout(TEXT, tiny_prm.smollm2())
    shared = ImplicitReward(reference=pair["reference"], adapter=adapter, beta=0.1)
    apart = ImplicitReward(reference=pair["reference"], model=f"{adapter}/merged", beta=0.1)
    for _ in range(2):  # the adapter is on again after ref was asked
        found = [signal(r.score([one])[0]).tokens for r in (shared, apart)]
        assert found[0] is not None
        assert np.abs(found[0]).max() > 0.01
        assert found[0] == pytest.approx(found[1], abs=1e-4)


# -- settings and pairs that are none ----------------------------------------------------------------------------------


def test_the_same_model_twice_is_no_pair(pair: dict[str, str]) -> None:
    same = {"model": pair["reference"], "reference": pair["reference"]}
    with pytest.raises(RewardError, match="say the same of every token: all rewards would be 0"):
        ImplicitReward(**same)
    with pytest.warns(UserWarning, match="the same of every token"):
        ImplicitReward(**same, self_test="warning")


def test_two_tokenizers_are_no_pair(pair: dict[str, str], tmp_path: Path) -> None:
    other = tiny_prm.made("phi", tiny_prm.merging(), tmp_path)
    with pytest.raises(RewardError, match="have different tokenizers"):
        ImplicitReward(reference=pair["reference"], model=other)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"model": None}, "name phi"),
        ({"adapter": "x"}, "name phi"),
        ({"model": None, "adapter": "./nowhere"}, "holds no adapter_config.json"),
        ({"mode": "sum"}, "mode is one of difference, cumulative"),
        ({"bound": 0}, "bound is a number above 0"),
        ({"beta": float("nan")}, "beta is a number above 0"),
        ({"model": "./nowhere"}, "./nowhere cannot be loaded"),
        ({"reference": "./nowhere"}, "./nowhere cannot be loaded"),
    ],
)
def test_bad_settings_are_one_line(pair: dict[str, str], given: dict[str, Any], message: str) -> None:
    with pytest.raises(RewardError) as caught:
        load_reward("implicit", **{**pair, **given})
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


# -- the sharing out ---------------------------------------------------------------------------------------------------


@st.composite
def tilings(draw: st.DrawFn) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    length = draw(st.integers(1, 20))
    both = []
    for _ in range(2):
        cuts = sorted(draw(st.lists(st.integers(0, length), max_size=8)))
        both.append(list(zip([0, *cuts], [*cuts, length], strict=True)))
    return both[0], both[1]


@given(spans=tilings(), seed=st.integers(0, 9))
@settings(max_examples=200, deadline=None)
def test_sharing_out_keeps_the_sum_and_gives_nothing_to_tokens_without_text(
    spans: tuple[list[tuple[int, int]], list[tuple[int, int]]], seed: int
) -> None:
    theirs, ours = spans
    q = np.random.default_rng(seed).normal(size=len(theirs))
    out = _aligned(q, tuple(theirs), tuple(ours))
    assert out.sum() == pytest.approx(q.sum())
    assert all(v == 0 for v, (a, b) in zip(out, ours, strict=True) if a == b)
    if all(a < b for a, b in theirs):
        pairs = list(zip(q, theirs, strict=True))
        by_hand = [sum(v * max(0, min(b, d) - max(a, c)) / (d - c) for v, (c, d) in pairs) for a, b in ours]
        assert out == pytest.approx(by_hand)


def test_offsets_that_repeat_give_the_character_to_its_last_id() -> None:
    assert tiled([(0, 1), (1, 2), (1, 2), (1, 2), (2, 5)]) == ((0, 1), (1, 1), (1, 1), (1, 2), (2, 5))
    assert tiled([(8, 10), (9, 10)]) == ((8, 9), (9, 10))
    assert tiled([]) == ()


# -- with real weights -------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_embedded_model_against_itself_with_noise(tmp_path: Path) -> None:
    """phi is SmolLM2-135M; ref the same with noise on its weights: real text is likelier under phi."""
    from bot_grpo.models import embedded_path

    phi = str(embedded_path())
    model = AutoModelForCausalLM.from_pretrained(phi, dtype=torch.float32)
    torch.manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.1 * parameter.std())
    model.save_pretrained(tmp_path)
    load_tokenizer(phi).save_pretrained(tmp_path)
    pair = {"model": phi, "reference": str(tmp_path)}
    text = "The capital of France is Paris, and that of Italy is Rome."
    reward = ImplicitReward(**pair, beta=1.0, bound=50.0, dtype="float32", outcome="sum")
    found = signal(reward.score([rollout(text, load_tokenizer(phi), "Name two capitals.")])[0])
    expected = plain(pair, "Name two capitals.", text)
    assert found.tokens == pytest.approx(expected, abs=1e-2)
    assert found.outcome is not None
    assert found.outcome > 1.0
