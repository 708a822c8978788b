"""The table of algorithms: reference values for every row, and laws that every algorithm keeps."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from typing import Any

import pytest
import torch
import torch.distributed as dist
from golden_batch import GOLDEN_ROWS, NAMES, ROOT, K, as_ranks, f64, golden, golden_batch, random_batch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from bot_grpo import cli
from bot_grpo.advantages import group_normalised, row_mean
from bot_grpo.algorithms import ALGORITHMS, Evaluation, Groups, ScoredBatch, evaluate, get_algorithm
from bot_grpo.backbone import SETTINGS

OUTCOME_LEVEL = ("grpo", "dr_grpo", "gspo", "dapo", "balanced", "reco")
every_algorithm = pytest.mark.parametrize("name", NAMES)


def take(batch: ScoredBatch, rows: Any, width: int | None = None) -> ScoredBatch:
    """Those rows (any index), cut to the first `width` tokens; log-probabilities become a leaf of their own."""

    def cut(name: str, x: Tensor) -> Tensor:
        x = x.detach()[rows]
        return x[:, :width].clone() if name.endswith("_BT") else x.clone()

    values = {f.name: getattr(batch, f.name) for f in fields(batch)}
    piece = ScoredBatch(**{name: None if x is None else cut(name, x) for name, x in values.items()})
    assert piece.logps_BT is not None
    return replace(piece, logps_BT=piece.logps_BT.requires_grad_())


def run(name: str, batch: ScoredBatch, k: int = K, **options: Any) -> tuple[Evaluation, Tensor]:
    """The evaluation and the gradient of its loss in the log-probabilities."""
    out = evaluate(name, batch, num_generations=k, **options)
    assert batch.logps_BT is not None
    return out, torch.autograd.grad(out.loss, batch.logps_BT)[0]


def close(a: Tensor, b: Tensor, rtol: float = 1e-9, atol: float = 1e-9) -> None:
    torch.testing.assert_close(a, b, rtol=rtol, atol=atol, check_dtype=False)


# Reference values.


@pytest.mark.parametrize(("name", "options", "key"), GOLDEN_ROWS, ids=[f"{n}-{k}" for n, _, k in GOLDEN_ROWS])
def test_advantages_loss_and_gradient_match_the_reference(name: str, options: dict[str, Any], key: str) -> None:
    batch, want = golden_batch(name), golden()["algos"][key]
    out, grad = run(name, batch, **options)
    adv = f64(want["adv"])
    adv = adv if adv.dim() == 2 else adv[:, None] * batch.mask_BT
    close(out.advantages_BT, adv, 1e-6, 1e-9)
    close(out.loss, f64(want["loss"]), 1e-6, 0)
    close(grad, f64(want["dloss_dlogp"]), 1e-6, 1e-11)


@pytest.mark.parametrize(("name", "options", "key"), GOLDEN_ROWS, ids=[f"{n}-{k}" for n, _, k in GOLDEN_ROWS])
def test_the_reference_loss_survives_any_cut_into_micro_batches(name: str, options: dict[str, Any], key: str) -> None:
    batch, algorithm = golden_batch(name), get_algorithm(name, **options)
    prepared = algorithm.prepare(batch, K)
    losses = []
    for rows in (slice(0, 3), slice(3, 4), slice(4, 8)):
        piece = take(batch, rows)
        assert piece.logps_BT is not None
        loss, _ = algorithm.policy_loss(
            prepared.advantages_BT[rows],
            prepared.weights_BT[rows],
            piece.mask_BT,
            piece.logps_BT,
            piece.old_logps_BT,
            piece.ref_logps_BT,
        )
        losses.append(loss)
    close(torch.stack(losses).sum(), f64(golden()["algos"][key]["loss"]), 1e-6, 0)


@every_algorithm
def test_every_algorithm_has_a_reference(name: str) -> None:
    assert name in {row[0] for row in GOLDEN_ROWS}


# Laws that every algorithm keeps.


@every_algorithm
@given(seed=st.integers(0, 10_000))
@settings(deadline=None, max_examples=10)
def test_padding_is_never_read(name: str, seed: int) -> None:
    clean = random_batch(8, 6, seed=seed)
    outside = ~clean.mask_BT
    junk = take(clean, slice(None))
    for field in fields(junk):
        x = getattr(junk, field.name)
        if x is not None and x.is_floating_point() and x.dim() == 2:
            dirty = torch.where(
                outside, torch.tensor([torch.nan, 1e6, -torch.inf])[torch.randint(3, x.shape)], x.detach()
            )
            junk = replace(junk, **{field.name: dirty.requires_grad_(x.requires_grad)})
    junk = replace(junk, step_ends_BT=junk.step_ends_BT | outside) if junk.step_ends_BT is not None else junk
    (a, grad_a), (b, grad_b) = run(name, clean, beta=0.1), run(name, junk, beta=0.1)
    for x, y in ((a.advantages_BT, b.advantages_BT), (a.weights_BT, b.weights_BT), (a.loss, b.loss), (grad_a, grad_b)):
        assert torch.equal(x, y)
    assert a.metrics == b.metrics
    assert (grad_b[outside] == 0).all()


@every_algorithm
@given(seed=st.integers(0, 10_000), order=st.permutations(range(4)))
@settings(deadline=None, max_examples=10)
def test_permuting_rollouts_inside_a_group_permutes_the_result(name: str, seed: int, order: list[int]) -> None:
    batch = random_batch(8, 6, seed=seed)
    index = torch.tensor([*order, 4, 5, 6, 7])
    (a, grad_a), (b, grad_b) = run(name, batch), run(name, take(batch, index))
    close(a.advantages_BT[index], b.advantages_BT)
    close(a.weights_BT[index], b.weights_BT)
    close(grad_a[index], grad_b)


@every_algorithm
@pytest.mark.parametrize("options", [{}, {"drop_equal_outcome_groups": True, "beta": 0.1}])
def test_ranks_that_cut_a_group_agree_with_one_process(name: str, options: dict[str, Any]) -> None:
    """Three processes with 3, 6 and 3 rows of three groups of 4, the first padded to a narrower width."""
    batch = random_batch(12, 6, seed=7)
    outcome = f64([1, 0, 1, 0, 1, 1, 1, 1, 0, 0, 0, 1])
    mask = batch.mask_BT.clone()
    mask[:3, 4:] = False
    batch = take(replace(batch, mask_BT=mask, outcome_B=outcome), slice(None))
    whole, grad = run(name, batch, **options)
    pieces = [take(batch, slice(0, 3), 4), take(batch, slice(3, 9)), take(batch, slice(9, 12))]

    def work(piece: ScoredBatch, groups: Groups) -> tuple[Evaluation, Tensor]:
        return run(name, piece, groups=groups, **options)

    results = as_ranks(pieces, torch.arange(12) // 4, 3, work)
    for result in results:
        assert not isinstance(result, BaseException), result
    widen = [(0, 2, 0, 0), (0, 0, 0, 0), (0, 0, 0, 0)]
    for got, want in ((lambda r: r[0].advantages_BT, whole.advantages_BT), (lambda r: r[1], grad)):
        close(torch.cat([torch.nn.functional.pad(got(r), pad) for r, pad in zip(results, widen, strict=True)]), want)
    close(sum(r[0].loss for r in results), whole.loss)
    for key, value in whole.metrics.items():
        if key.startswith("algo/"):
            assert all(r[0].metrics[key] == pytest.approx(value) for r in results), key


@every_algorithm
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_lower_precision_stays_within_1e_4_of_float64(name: str, dtype: torch.dtype) -> None:
    """The same numbers (rounded to dtype) in float64; the reference for 1e-4 is the largest value of each result."""
    rough = random_batch(16, 64, seed=3, dtype=dtype)
    filled = {f.name: x for f in fields(rough) if (x := getattr(rough, f.name)) is not None}
    exact = replace(rough, **{k: x.detach().double() for k, x in filled.items() if x.is_floating_point()})
    (a, grad_a), (b, grad_b) = run(name, take(rough, slice(None))), run(name, take(exact, slice(None)))
    assert a.advantages_BT.dtype == a.loss.dtype == torch.float32
    # A gradient in bf16 has 8 bits, and ReCo keeps p away from 0 and 1 by 1e-3 there.
    half = 1e-2 if dtype == torch.bfloat16 else 1e-4
    within(a.advantages_BT, b.advantages_BT, 1e-4)
    within(a.loss, b.loss, half if name == "reco" else 1e-4)
    within(grad_a, grad_b, half)


def within(a: Tensor, b: Tensor, share: float) -> None:
    assert (a.double() - b).abs().max() <= share * b.abs().max() + 1e-6


# Edges: nothing to divide by.


@every_algorithm
def test_an_unscored_rollout_is_as_good_as_absent(name: str) -> None:
    """Its group's other rollouts get the advantages of a group without it; its own are 0, whatever its reward says."""
    batch = random_batch(8, 6, seed=11)
    outcome, rewards = batch.outcome_B.clone(), batch.token_rewards_BT.clone()
    outcome[2], rewards[2] = torch.nan, torch.nan
    scored = torch.ones(8, dtype=torch.bool)
    scored[2] = scored[6] = False
    rest = torch.tensor([0, 1, 3, 4, 5, 7])
    got, grad = run(name, replace(batch, outcome_B=outcome, token_rewards_BT=rewards, scored_B=scored))
    want, _ = run(name, take(batch, rest), k=3)
    close(got.advantages_BT[rest], want.advantages_BT)
    assert (got.advantages_BT[[2, 6]] == 0).all()
    assert (grad[[2, 6]] == 0).all()
    assert got.metrics["algo/unscored"] == 0.25


@every_algorithm
def test_an_empty_completion_gives_0_and_leaves_the_statistics(name: str) -> None:
    batch = random_batch(8, 6, seed=12)
    mask = batch.mask_BT.clone()
    mask[5] = False
    got, grad = run(name, replace(batch, mask_BT=mask))
    absent, _ = run(name, replace(batch, scored_B=torch.arange(8) != 5))
    close(got.advantages_BT, absent.advantages_BT)
    assert (got.advantages_BT[5] == 0).all()
    assert (grad[5] == 0).all()
    assert torch.isfinite(got.loss)


@every_algorithm
@pytest.mark.parametrize("alone", ["group of one", "one scored", "none scored"])
def test_a_group_of_one_gives_0(name: str, alone: str) -> None:
    batch = random_batch(8, 6, seed=13)
    if alone == "group of one":
        got, grad = run(name, batch, k=1)
    else:
        scored = torch.arange(8) % 4 == (1 if alone == "one scored" else 9)
        got, grad = run(name, replace(batch, scored_B=scored))
    assert (got.advantages_BT == 0).all()
    assert got.loss == 0
    assert (grad == 0).all()
    assert got.metrics["algo/zero_variance_groups"] == 1


@every_algorithm
def test_equal_rewards_give_0_or_at_least_a_number(name: str) -> None:
    """A group of equal rewards: 0, but for the three whose returns differ by position and the one that is anchored."""
    batch = random_batch(8, 6, seed=14)
    equal = torch.full_like(batch.token_rewards_BT, 0.1)
    got, grad = run(name, replace(batch, token_rewards_BT=equal, local_rewards_BT=None, outcome_B=equal[:, 0]))
    assert torch.isfinite(grad).all()
    if name not in {"pure", "prime", "grpo_process", "ep_grpo"}:
        assert got.advantages_BT.abs().max() < 1e-8
    assert got.metrics["algo/equal_outcome_groups"] == 1


@pytest.mark.parametrize("name", ["pure", "grpo_process"])
def test_step_rewards_are_read_at_step_ends_only(name: str) -> None:
    batch = random_batch(8, 6, seed=22)
    assert batch.step_rewards_BT is not None
    assert batch.step_ends_BT is not None
    sparse = torch.where(batch.step_ends_BT, batch.step_rewards_BT, torch.nan)
    (a, grad_a), (b, grad_b) = run(name, batch), run(name, replace(batch, step_rewards_BT=sparse))
    assert torch.equal(a.advantages_BT, b.advantages_BT)
    assert torch.equal(grad_a, grad_b)
    with pytest.raises(ValueError, match=r"the reward of rollout\(s\) .* is NaN"):
        evaluate(name, replace(batch, step_rewards_BT=torch.full_like(sparse, torch.nan)), num_generations=K)


# Options.


def test_equal_lengths_make_balanced_the_sequence_mean() -> None:
    batch = random_batch(8, 6, seed=15)
    batch = replace(batch, mask_BT=torch.ones(8, 6, dtype=torch.bool))
    (a, grad_a), (b, grad_b) = run("balanced", batch), run("grpo", batch, clip_high=0.28)
    close(a.loss, b.loss)
    close(grad_a, grad_b)


@pytest.mark.parametrize("name", OUTCOME_LEVEL)
def test_token_mean_turns_token_rewards_into_the_outcome(name: str) -> None:
    batch = random_batch(8, 6, seed=16)
    mean = row_mean(batch.token_rewards_BT, batch.mask_BT)
    got = evaluate(name, batch, num_generations=K, outcome="token_mean")
    want = evaluate(name, replace(batch, outcome_B=mean), num_generations=K)
    close(got.advantages_BT, want.advantages_BT)
    assert not torch.allclose(got.advantages_BT, evaluate(name, batch, num_generations=K).advantages_BT)


@every_algorithm
def test_dropped_groups_are_as_if_never_sampled(name: str) -> None:
    batch = random_batch(8, 6, seed=17)
    batch = replace(batch, outcome_B=f64([1, 1, 1, 1, 0, 1, 0, 0]))
    got, grad = run(name, batch, drop_equal_outcome_groups=True, beta=0.1)
    want, grad_rest = run(name, take(batch, slice(4, 8)), beta=0.1)
    close(got.loss, want.loss)
    close(grad[4:], grad_rest)
    assert (grad[:4] == 0).all()
    none, grad_none = run(name, replace(batch, outcome_B=torch.zeros(8)), drop_equal_outcome_groups=True)
    assert none.loss == 0
    assert (grad_none == 0).all()


@every_algorithm
def test_overlong_filtering_keeps_the_statistics_and_drops_the_gradient(name: str) -> None:
    batch = random_batch(8, 6, seed=18)
    keep = torch.tensor([1, 1, 0, 1, 1, 1, 1, 0]).bool()
    got, grad = run(name, replace(batch, loss_mask_BT=batch.mask_BT & keep[:, None], truncated_B=~keep))
    full, _ = run(name, batch)
    assert torch.equal(got.advantages_BT, full.advantages_BT)
    assert (grad[~keep] == 0).all()
    assert (grad[keep] != 0).any()
    assert got.metrics["algo/truncated"] == 0.25
    all_cut, grad_cut = run(name, replace(batch, loss_mask_BT=torch.zeros_like(batch.mask_BT)))
    assert all_cut.loss == 0
    assert (grad_cut == 0).all()


def test_center_local_false_needs_the_local_part_and_uses_it() -> None:
    batch = random_batch(8, 6, seed=19)
    batch = replace(batch, outcome_B=torch.ones(8), token_rewards_BT=1 + batch.local_rewards_BT)  # type: ignore[operator]
    a = evaluate("bot_grpo", batch, num_generations=K, center_local=False).advantages_BT
    assert torch.equal(a.sign(), (batch.local_rewards_BT * batch.mask_BT).sign())  # type: ignore[operator]
    with pytest.raises(ValueError, match="local_rewards_BT"):
        evaluate("bot_grpo", replace(batch, local_rewards_BT=None), num_generations=K, center_local=False)


def test_prime_reads_the_local_part_where_it_is_told_apart() -> None:
    batch = random_batch(8, 6, seed=20)
    q = batch.local_rewards_BT
    assert q is not None
    alone = evaluate("prime", replace(batch, token_rewards_BT=q, local_rewards_BT=None), num_generations=K)
    close(evaluate("prime", batch, num_generations=K).advantages_BT, alone.advantages_BT)


# Metrics.


def test_reward_metrics_say_where_the_variance_comes_from() -> None:
    batch = golden_batch()
    local = f64(golden()["inputs"]["local"]) * 0.5
    batch = replace(batch, local_rewards_BT=local, truncated_B=torch.arange(8) == 0)
    metrics = evaluate("bot_grpo", batch, num_generations=K).metrics
    sigma = f64([s for _, s in golden()["algos"]["bot_grpo"]["group_mean_std"]]).mean().item()
    assert metrics["algo/sigma"] == pytest.approx(sigma, rel=1e-6)
    assert metrics["algo/sigma_global"] == pytest.approx((1.5 + 3 * 3**0.5 / 4) / 2, rel=1e-6)
    tokens = batch.mask_BT.bool()
    assert metrics["algo/local_tokens"] == pytest.approx((local[tokens] != 0).double().mean().item())
    assert metrics["algo/truncated"] == 1 / 8
    equal = evaluate("bot_grpo", replace(batch, outcome_B=torch.ones(8), token_rewards_BT=3 + local), num_generations=K)
    assert equal.metrics["algo/sigma_global"] == pytest.approx(0, abs=1e-9)
    assert equal.metrics["algo/sigma_local"] == pytest.approx(equal.metrics["algo/sigma"])
    assert equal.metrics["algo/zero_variance_groups"] == 0
    assert equal.metrics["algo/equal_outcome_groups"] == 1
    assert equal.metrics["algo/failed_groups"] == 0
    none_B = torch.tensor([0.0, -1, 0, 0, 0, 0.5, 0, 0])  # the first group has nothing above 0
    failed = evaluate("bot_grpo", replace(batch, outcome_B=none_B, token_rewards_BT=local), num_generations=K)
    assert failed.metrics["algo/failed_groups"] == 0.5
    assert equal.metrics["algo/advantage_max"] == pytest.approx(equal.advantages_BT.abs().max().item())


def test_policy_metrics_count_what_the_clip_stops() -> None:
    batch = golden_batch()
    out, grad = run("grpo", batch)
    mask = batch.mask_BT.bool()
    assert batch.logps_BT is not None
    assert batch.old_logps_BT is not None
    ratio = (batch.logps_BT - batch.old_logps_BT).exp().detach()[mask]
    stopped = (grad[mask] == 0).double().mean().item()
    assert out.metrics["policy/clip_low"] + out.metrics["policy/clip_high"] == pytest.approx(stopped)
    assert out.metrics["policy/ratio_mean"] == pytest.approx(ratio.mean().item())
    assert out.metrics["policy/ratio_max"] == pytest.approx(ratio.max().item())
    kl = f64(golden()["algos"]["kl_k3"]["value"])[mask].mean().item()
    assert out.metrics["policy/kl"] == pytest.approx(kl, rel=1e-6)
    assert out.metrics["policy/entropy"] == pytest.approx(f64(golden()["inputs"]["entropy"])[mask].mean().item())
    bare = evaluate("grpo", replace(batch, ref_logps_BT=None, entropies_BT=None), num_generations=K).metrics
    assert not {"policy/kl", "policy/entropy", "algo/local_tokens", "algo/truncated"} & set(bare)


# Bad input.


def test_an_unknown_algorithm_or_setting_is_one_clear_line() -> None:
    cases: list[tuple[str, dict[str, Any], str]] = [
        ("gropo", {}, "no algorithm 'gropo'; did you mean 'grpo'"),
        ("zzz", {}, "no algorithm 'zzz'; there are: bot_grpo, "),
        ("grpo", {"sigma_floor": 1.0}, "grpo has no setting sigma_floor; it has: beta, clip_high, "),
        ("grpo", {"std": "bessel"}, "grpo: std must be one of population, sample, none, not 'bessel'"),
        ("grpo", {"eps": "1e-6"}, "write 1.0e-6"),
        ("grpo", {"eps": 0}, "eps must be a positive number"),
        ("grpo", {"clip_low": 3}, "clip_low must be a number from 0 to 1"),
        ("grpo", {"beta": float("nan")}, "beta must be a number, 0 or more"),
        ("grpo", {"beta": None}, "beta must be a number, 0 or more"),
        ("grpo", {"drop_equal_outcome_groups": 1}, "must be true or false"),
        ("bot_grpo", {"length_weighted": "no"}, "must be true or false"),
        ("ep_grpo", {"bins": 2.5}, "bins must be a whole number"),
        ("gspo", {"length_weighted": False}, "gspo has no setting length_weighted"),
    ]
    for name, options, message in cases:
        with pytest.raises(ValueError, match=r"\w") as error:
            get_algorithm(name, **options)
        assert message in str(error.value)
        assert "\n" not in str(error.value)


def test_a_batch_that_makes_no_sense_is_one_clear_line() -> None:
    batch = random_batch(8, 6)
    nan = batch.token_rewards_BT.clone()
    nan[3, 0] = torch.nan
    cases: list[tuple[str, dict[str, Any], int, str]] = [
        ("grpo", {"token_rewards_BT": torch.zeros(8, 5)}, 4, "token_rewards_BT is (8, 5) but mask_BT is (8, 6)"),
        ("grpo", {"outcome_B": torch.zeros(7)}, 4, "outcome_B is (7,) but mask_BT is (8, 6): it must be (8,)"),
        ("grpo", {"mask_BT": torch.zeros(8, 6)}, 4, "mask_BT is all zero"),
        ("grpo", {"mask_BT": torch.ones(8)}, 4, "mask_BT must be (rollouts, tokens)"),
        ("grpo", {}, 3, "num_generations 3 does not divide the 8 rollouts"),
        ("bot_grpo", {"token_rewards_BT": nan}, 4, "the reward of rollout(s) [3] is NaN"),
        ("grpo", {"outcome_B": batch.outcome_B / 0}, 4, "is NaN or infinite; mark what can't be scored in scored_B"),
        ("pure", {"step_ends_BT": None}, 4, "pure needs step_ends_BT in the batch"),
        ("ep_grpo", {"entropies_BT": None, "ref_logps_BT": None}, 4, "ep_grpo needs entropies_BT and ref_logps_BT"),
        ("reco", {"old_logps_BT": None}, 4, "reco needs old_logps_BT"),
        ("grpo", {"logps_BT": None}, 4, "evaluate needs logps_BT"),
    ]
    for name, change, k, message in cases:
        with pytest.raises(ValueError, match=r"\w") as error:
            evaluate(name, replace(batch, **change), num_generations=k)
        assert message in str(error.value)
        assert "\n" not in str(error.value)
    with pytest.raises(ValueError, match="grpo needs ref_logps_BT"):
        evaluate("grpo", replace(batch, ref_logps_BT=None), num_generations=4, beta=0.1)


def test_all_ranks_refuse_a_nan_together() -> None:
    """A rank that raised alone would leave the others waiting in a reduction."""
    batch = random_batch(8, 6)
    outcome = batch.outcome_B.clone()
    outcome[6] = torch.nan
    batch = replace(batch, outcome_B=outcome)

    def work(piece: ScoredBatch, groups: Groups) -> Evaluation:
        return evaluate("bot_grpo", piece, num_generations=K, groups=groups)

    errors = as_ranks([take(batch, slice(0, 3)), take(batch, slice(3, 8))], torch.arange(8) // 4, 2, work)
    assert [type(e) for e in errors] == [ValueError, ValueError]
    assert "of another process" in str(errors[0])
    assert "[3]" in str(errors[1])


def test_loss_of_rows_that_do_not_fit_names_both_shapes() -> None:
    algorithm = get_algorithm("grpo")
    a = torch.zeros(4, 6)
    with pytest.raises(ValueError, match=r"\(4, 5\) but advantages_BT is \(4, 6\)"):
        algorithm.policy_loss(a, a, a, torch.zeros(4, 5))


# Table, command and pages.


@every_algorithm
def test_a_row_says_everything_a_reader_needs(name: str) -> None:
    row = get_algorithm(name)
    assert row.title
    assert row.equation
    assert row.departures
    assert set(row.defaults) <= set(SETTINGS)
    assert row.settings == row.defaults
    assert {"ref_logps"} <= get_algorithm(name, beta=0.1).needs
    page = (ROOT / "bot_grpo" / "README.md").read_text()
    assert f"### {name}" in page
    assert row.paper in page


def test_the_page_explains_every_metric_and_setting() -> None:
    batch = replace(random_batch(8, 6), truncated_B=torch.zeros(8, dtype=torch.bool))
    page = (ROOT / "bot_grpo" / "README.md").read_text()
    for name in [*evaluate("grpo", batch, num_generations=K).metrics, *SETTINGS]:
        assert f"`{name}`" in page, name


def test_the_command_lists_and_shows(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["algorithms"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == NAMES
    assert cli.main(["algorithms", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["name"] for row in rows] == NAMES
    assert rows[0]["defaults"]["clip_low"] == 0.2
    assert cli.main(["algorithms", "dapo"]) == 0
    page = capsys.readouterr().out
    assert all(text in page for text in ("2503.14476", "per_group", *ALGORITHMS["dapo"].departures))
    assert cli.main(["algorithms", "dapoo"]) == 2
    assert "did you mean 'dapo'" in capsys.readouterr().err


# Real processes.


def _process(rank: int, port: int, batch: ScoredBatch, out: Any) -> None:
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)
    torch.set_num_threads(1)
    rows = slice(6 * rank, 6 * rank + 6)
    for name in NAMES:
        piece = take(batch, rows)
        result, grad = run(name, piece, groups=Groups.distributed(6, K))
        out.put((name, rank, result.advantages_BT.tolist(), result.loss.item(), grad.tolist()))
    dist.destroy_process_group()


@pytest.mark.slow
def test_two_gloo_processes_are_one() -> None:
    """12 rows in groups of 4 on two processes of 6: the middle group straddles."""
    import socket

    import torch.multiprocessing as mp

    batch = take(random_batch(12, 6, seed=21), slice(None))
    batch = replace(batch, logps_BT=batch.logps_BT.detach())  # type: ignore[union-attr]
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    context = mp.get_context("spawn")
    queue = context.Queue()
    workers = [context.Process(target=_process, args=(rank, port, batch, queue)) for rank in range(2)]
    for worker in workers:
        worker.start()
    got = {(name, rank): rest for name, rank, *rest in (queue.get(timeout=120) for _ in range(2 * len(NAMES)))}
    for worker in workers:
        worker.join(timeout=60)
        assert worker.exitcode == 0
    for name in NAMES:
        want, grad = run(name, take(batch, slice(None)))
        parts = [got[name, rank] for rank in range(2)]
        close(f64(parts[0][0] + parts[1][0]), want.advantages_BT)
        close(f64(parts[0][1] + parts[1][1]), want.loss)
        close(f64(parts[0][2] + parts[1][2]), grad)


def test_group_normalised_matches_trl_on_unscored_rows() -> None:
    """TRL leaves a NaN reward out of mean and std (Bessel's, eps 1e-4) and gives it 0."""
    want = f64(golden()["probes"]["trl_nan_reward_row"])
    outcome, has = f64([1, torch.nan, 1, 0]), torch.tensor([True, False, True, True])
    close(group_normalised(outcome, has, Groups.contiguous(4, 4), std="sample", eps=1e-4), want, 1e-6, 1e-7)
