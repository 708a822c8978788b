"""The folder of an evaluation and its loop: what a kill leaves is gone on from, to the same samples; the figures."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from eval_runs import begin, hf, problems, save_policy, settings

from bot_grpo.backends import Request, prompt_hash, sample_seed
from bot_grpo.errors import UserError
from bot_grpo.eval_hf import batches
from bot_grpo.eval_progress import EvalProgress
from bot_grpo.eval_results import Graded, compare, default_ks, mean_interval, results, table, together, write
from bot_grpo.eval_tasks import AIME, Mark
from bot_grpo.evaluate import EvalDir, Problem, Sample, requests, sample_missing

N = 4


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_policy(tmp_path_factory.mktemp("policy"))


@pytest.fixture(scope="module")
def whole(policy: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Sample]:
    """The samples of a run that nothing disturbed."""
    run, wanted = begin(tmp_path_factory.mktemp("whole"), problems(), N)
    assert sample_missing(run, hf(policy), wanted, (), lambda fresh: None) == []
    return run.wanted(wanted)


@pytest.fixture(autouse=True)
def no_commits_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    """A commit made while a test runs would begin another session."""
    monkeypatch.setattr("bot_grpo.evaluate.commit", lambda: "abc")


def bare(samples: Sequence[Sample]) -> list[dict[str, Any]]:
    """Everything but the time that they took."""
    return [{k: v for k, v in vars(s).items() if k != "seconds"} for s in samples]


# -- seeds and batches ------------------------------------------------------------------------------------------------


def test_a_seed_is_the_samples_own_and_never_changes() -> None:
    assert [sample_seed(0, "p1", 0), sample_seed(0, "p1", 1), sample_seed(1, "p1", 0)] == [
        1450753167,
        1418751652,
        1543998646,
    ]
    seeds = {sample_seed(s, f"p{i}", k) for s in range(3) for i in range(30) for k in range(64)}
    assert len(seeds) > 0.999 * 3 * 30 * 64
    assert all(0 <= seed < 2**31 for seed in seeds)
    assert sample_seed(0, "p1", 11) != sample_seed(0, "p11", 1)


@pytest.mark.parametrize("size", [1, 3, 4, 7, 8, 64])
@pytest.mark.parametrize("n", [1, 4, 10])
def test_batches_hold_every_request_once_in_equal_groups(n: int, size: int) -> None:
    asked = requests(problems(7), n, 0)
    lengths = {f"p{i}": (5 * i) % 7 + 1 for i in range(7)}
    made = batches(asked, lengths, size)
    rows = [request for batch in made for group in batch for request in group]
    assert sorted(r.key for r in rows) == sorted(r.key for r in asked)
    for batch in made:
        assert len({len(group) for group in batch}) == 1
        assert sum(map(len, batch)) <= size
        assert all(len({r.problem for r in group}) == 1 for group in batch)
    if n <= size:
        order = [lengths[batch[0][0].problem] for batch in made]
        assert order == sorted(order, reverse=True)


# -- kill and go on --------------------------------------------------------------------------------------------------


class KilledError(Exception):
    """In place of a SIGKILL, between two batches (the real one: test_eval_cli)."""


@pytest.mark.parametrize("after", [1, 2, 3])
@pytest.mark.parametrize("half_a_line", [False, True])
def test_a_run_that_was_killed_goes_on_to_the_same_samples(
    policy: Path, whole: list[Sample], tmp_path: Path, after: int, half_a_line: bool
) -> None:
    run, wanted = begin(tmp_path / "run", problems(), N)
    came: list[Sample] = []

    def until(fresh: Sequence[Sample]) -> None:
        came.extend(fresh)
        if len(came) >= after * 4:
            raise KilledError

    with pytest.raises(KilledError):
        sample_missing(run, hf(policy), wanted, (), until)
    journal = run.path / "samples.jsonl"
    if half_a_line:
        journal.write_bytes(journal.read_bytes()[:-25])
        came = came[:-1]
    again, _ = begin(tmp_path / "run", problems(), N)
    known = again.wanted(wanted)
    assert {s.key for s in known} == {s.key for s in came}
    assert 0 < len(known) < len(wanted)
    fresh: list[Sample] = []
    sample_missing(again, hf(policy), wanted, {s.key for s in known}, fresh.extend)
    assert bare(again.wanted(wanted)) == bare(whole)
    assert {s.key for s in fresh} == {r.key for r in wanted} - {s.key for s in known}
    lines = journal.read_text().splitlines()
    assert len(lines) == len(wanted)
    assert len(again.config()["sessions"]) == 1


def test_samples_do_not_depend_on_the_batch_or_on_the_order(policy: Path, whole: list[Sample], tmp_path: Path) -> None:
    """In float32; where sums are in bfloat16 a batch of another shape can round to another token."""
    mixed = problems()
    random.Random(1).shuffle(mixed)
    for size, asked in ((1, problems()), (20, mixed)):
        run, wanted = begin(tmp_path / f"{size}", asked, N)
        sample_missing(run, hf(policy, batch_size=size), wanted, (), lambda fresh: None)
        found = {s.key: s for s in run.samples()}
        assert bare([found[s.key] for s in whole]) == bare(whole)


def test_more_samples_and_more_problems_are_added_to_what_is_there(
    policy: Path, whole: list[Sample], tmp_path: Path
) -> None:
    run, few = begin(tmp_path, problems(3), 2)
    sample_missing(run, hf(policy), few, (), lambda fresh: None)
    run, all_of_them = begin(tmp_path, problems(), N)
    known = run.wanted(all_of_them)
    assert len(known) == 6
    sample_missing(run, hf(policy), all_of_them, {s.key for s in known}, lambda fresh: None)
    assert bare(run.wanted(all_of_them)) == bare(whole)
    assert len(run.wanted(few)) == 6


def test_what_another_engine_sampled_is_recorded_as_a_session_of_its_own(policy: Path, tmp_path: Path) -> None:
    run, wanted = begin(tmp_path, problems(2), 1)
    backend = hf(policy)
    sample_missing(run, backend, wanted[:1], (), lambda fresh: None)
    backend.engine = {**backend.engine, "dtype": "another"}
    sample_missing(run, backend, wanted, {wanted[0].key}, lambda fresh: None)
    first, second = run.config()["sessions"]
    assert first["engine"]["name"] == "transformers"
    assert (first["engine"]["dtype"], second["engine"]["dtype"]) == ("float32", "another")
    assert {"torch", "transformers"} <= set(first["versions"])


# -- what is refused -------------------------------------------------------------------------------------------------


def test_a_folder_holds_the_samples_of_one_set_of_settings(tmp_path: Path) -> None:
    run, wanted = begin(tmp_path / "run", problems(2), 1)
    run.begin(settings(temperature=0.7), problems(2), 1)  # no samples yet
    run.begin(settings(), problems(2), 1)
    with run.journal() as append:
        append([sample(wanted[0], prompt="another")])
    with pytest.raises(UserError, match=r"temperature 0\.8, and this one has 1\.0: choose another --output"):
        run.begin(settings(temperature=1.0), problems(2), 1)
    with pytest.raises(UserError, match="another prompt for 'p0'"):
        run.wanted(wanted)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("mine")
    with pytest.raises(UserError, match="something else than an evaluation"):
        EvalDir(tmp_path / "other").begin(settings(), problems(2), 1)
    with pytest.raises(UserError, match=r"is .* the folder of an evaluation"):
        EvalDir(tmp_path / "none").config()


def test_two_processes_do_not_write_into_one_folder(tmp_path: Path) -> None:
    run, _ = begin(tmp_path, problems(1), 1)
    with run.journal(), pytest.raises(UserError, match="another process is sampling"), EvalDir(tmp_path).journal():
        pass
    with run.journal():
        pass


def sample(request: Request, text: str = "", **changes: Any) -> Sample:
    made = {
        "problem": request.problem,
        "sample": request.sample,
        "seed": request.seed,
        "prompt": prompt_hash(request.messages),
        "text": text,
        "tokens": 5,
        "finish": "stop",
        "seconds": 0.5,
    }
    return Sample(**(made | changes))


def test_damaged_lines_cost_their_samples_and_the_parquet_stands_in_for_the_journal(tmp_path: Path) -> None:
    asked = problems(2)
    run, wanted = begin(tmp_path, asked, 2)
    text = "a\u2028b\x00\ud800 \\boxed{7}\n"
    with run.journal() as append:
        append([sample(r, text) for r in wanted])
        append([sample(wanted[0], "the first one counts")])
    journal = run.path / "samples.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join([lines[0], b"{broken\n", b'{"problem": "p0"}\n', b"[]\n", b"\n", *lines[2:]]))
    have = run.wanted(wanted)
    assert [s.key for s in have] == [wanted[0].key, *(r.key for r in wanted[2:])]
    assert have[0].text == text
    by_problem = together(
        asked, list(zip(have, AIME().grade([(asked[int(s.problem[1])], s) for s in have]), strict=True))
    )
    found = results(AIME(), by_problem, run.config(), None)
    write(run.path, found, by_problem)
    journal.unlink()
    assert bare(run.wanted(wanted)) == bare(
        [Sample(**{**vars(s), "text": text.replace("\ud800", "\ufffd")}) for s in have]
    )


# -- figures ---------------------------------------------------------------------------------------------------------


def counted(counts: Sequence[tuple[int, int]], **changes: Any) -> list[Graded]:
    """Problems of which c of n samples are right; the others say 999."""
    out = []
    for i, (c, n) in enumerate(counts):
        problem = Problem(f"p{i}", (("user", f"p{i}"),), f"p{i}", {"answer": 7}, "7")
        marks = [Mark(k < c, "7" if k < c else "999", "", {"boxed": 1.0}) for k in range(n)]
        samples = [sample(Request(problem.id, k, problem.messages, k), **changes) for k in range(n)]
        out.append(Graded(problem, tuple(samples), tuple(marks)))
    return out


def figures(graded: Sequence[Graded], n: int = 4, ks: Sequence[int] | None = None) -> dict[str, Any]:
    return results(AIME(), graded, {"settings": settings(), "n": n, "sessions": []}, ks)


def test_figures_are_those_of_the_counts() -> None:
    found = figures(counted([(0, 4), (1, 4), (4, 4)]))
    assert [p["k"] for p in found["pass_at_k"]] == [1, 2, 4]
    assert [p["value"] for p in found["pass_at_k"]] == pytest.approx([5 / 12, (0 + 0.5 + 1) / 3, 2 / 3])
    assert [p["k"] for p in found["curve"]] == [1, 2, 3, 4]
    assert found["majority"]["value"] == pytest.approx(1 / 3)
    assert (found["truncated"], found["no_answer"], found["mean_tokens"]) == (0, 0, 5)
    assert (found["seconds"], found["tokens_per_second"]) == (6.0, 10.0)
    low, high = found["pass_at_k"][0]["by_problem"]
    assert low < 5 / 12 < high
    text = "\n".join(table(found))
    assert "Pass@1            41.7 %" in text
    assert "12 samples of tiny" in text


def test_what_could_not_be_graded_and_what_is_missing_is_said_and_not_counted_as_wrong() -> None:
    graded = counted([(1, 4), (2, 2), (0, 0)])
    lost = Mark(None, reason="it fell over")
    first = Graded(graded[0].problem, graded[0].samples, (*graded[0].marks[:2], lost, lost))
    found = figures([first, *graded[1:]], ks=[1, 2, 4])
    assert found["pass_at_k"][0]["value"] == pytest.approx((1 / 2 + 1) / 2)
    assert [p["k"] for p in found["pass_at_k"]] == [1, 2]
    assert found["unscored"] == 2
    assert "\n".join(found["notes"]) == (
        "6 of 12 samples: the evaluation is not finished\n"
        "1 of 3 problems without a graded sample is left out\n"
        "Pass@4 needs more samples of each problem than there are\n"
        "2 samples could not be graded: it fell over"
    )
    with pytest.raises(UserError, match="no graded samples"):
        figures(counted([(0, 0)]))


def test_default_values_of_k() -> None:
    assert default_ks(1) == [1]
    assert default_ks(6) == [1, 2, 4, 6]
    assert default_ks(64) == [1, 2, 4, 8, 16, 32, 64]
    long = figures(counted([(1, 300), (200, 300)]), n=300)
    assert len(long["curve"]) <= 32
    assert long["curve"][-1]["k"] == 300


def test_a_mean_has_the_interval_of_its_problems() -> None:
    rng = random.Random(0)
    values = [rng.random() for _ in range(200)]
    value, low, high = mean_interval(values, 0)
    deviation = (sum((v - value) ** 2 for v in values) / len(values)) ** 0.5
    assert (high - low) / 2 == pytest.approx(1.96 * deviation / len(values) ** 0.5, rel=0.1)


def test_two_evaluations_are_compared_on_the_problems_that_both_have() -> None:
    better, worse = figures(counted([(4, 4), (2, 4), (1, 4), (0, 4)])), figures(counted([(2, 4), (2, 4), (2, 4)]))
    found = compare(better, worse, "worse")
    assert (found["problems"], found["left_out"], found["better"], found["worse"]) == (3, 1, 1, 1)
    assert found["differences"][0]["value"] == pytest.approx((2 / 4 + 0 - 1 / 4) / 3)
    same = compare(better, better, "itself")
    assert all(p["value"] == 0 and p["by_problem"] == [0, 0] for p in same["differences"])
    other = figures([Graded(Problem("q", (), "else", {}, "7"), g.samples, g.marks) for g in counted([(1, 4)])])
    with pytest.raises(UserError, match="--compare other: no problem of it"):
        compare(better, other, "other")
    renamed = json.loads(json.dumps(better))
    for p in renamed["per_problem"]:
        p["id"] = "AIME-" + p["id"]
    assert compare(better, renamed, "renamed")["problems"] == 4


def test_progress_says_the_running_figures_and_the_time_left(capsys: pytest.CaptureFixture[str]) -> None:
    graded = counted([(0, 4), (3, 4)], finish="length")
    with EvalProgress(16, "samples") as progress:
        progress.add(graded[0].samples, graded[0].marks, fresh=False)  # of an earlier session
        assert "ETA" not in progress.text()
        progress.add(graded[1].samples, graded[1].marks)
    line = capsys.readouterr().err
    assert line.startswith("8 of 16 samples  Pass@1 37.5 %  truncated 100 %  ")
    assert "tokens/s  ETA 0:00" in line
