"""What a comparison says of a study: statistics against values worked out by hand, and the recipe's stored cells."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from bot_grpo.cli import main
from bot_grpo.compare import (
    area,
    best_of,
    difference,
    estimate,
    figures,
    first_at,
    measures,
    notes,
    resamples,
    speed_up,
)
from bot_grpo.compare_cells import Cell, cell_folders, differences, origins, other_prompts, read_cell
from bot_grpo.compare_svg import picture
from bot_grpo.compare_words import chance, document, groups, runs, to_threshold
from bot_grpo.errors import UserError

ROOT = Path(__file__).resolve().parents[2]
STORED = ROOT / "bot_grpo" / "results" / "react-smollm2-cpu"
CURVE = [(0, 0.2), (4, 0.6), (8, 0.9), (12, 0.7)]


def write_cell(
    study: Path, name: str, curve: Sequence[tuple[int, float]], *, done: bool = True, steps: int = 0, **config: Any
) -> Path:
    """A cell whose curve and steps are invented: each step takes 8 rollouts of 10 tokens and 2 s."""
    arm, seed = name.rsplit("-seed", 1)
    last = steps or curve[-1][0]
    path = study / name
    path.mkdir(parents=True)
    settings = {"algorithm": arm.split("+")[0], "seed": int(seed), "max_steps": last, "learning_rate": 1e-4}
    (path / "config.yaml").write_text(yaml.safe_dump(settings | config))
    rows: list[dict[str, Any]] = [{"step": s, "eval/compile_rate": v, "eval/runtime": 1.0} for s, v in curve]
    rows += [
        {"step": s, "loss": 0.0, "completion_length": 10.0, "seconds/step": 2.0, "seconds/score": 0.5}
        for s in range(1, curve[-1][0] + 1)
    ]
    (path / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    if done:
        (path / "summary.json").write_text(json.dumps({"finished": True, "steps": last, "of": last, "seconds": 60.0}))
    return path


def cells_of(study: Path) -> list[Cell]:
    found = [read_cell(path) for path in cell_folders(study)]
    return [cell for cell in found if cell is not None]


# -- statistics -------------------------------------------------------------------------------------------------------


def test_a_curve_in_figures() -> None:
    assert first_at(CURVE, 0.6) == 4
    assert first_at(CURVE, 0.91) is None
    assert best_of([*CURVE, (16, 0.9)]) == (8, 0.9)
    # trapezoids of width 4: 1.6 + 3.0 + 3.2 = 7.8 over 12 steps
    assert measures(CURVE) == pytest.approx({"final": 0.7, "best": 0.9, "drop": 0.2, "area": 7.8 / 12})
    assert area([(0, 0.0), (2, 1.0), (10, 1.0)]) == pytest.approx((1 + 8) / 10)
    assert area([(8, 0.9)]) == 0.9


def test_few_seeds_are_drawn_in_every_way_and_many_at_random() -> None:
    assert resamples(2).tolist() == [[0, 0], [0, 1], [1, 0], [1, 1]]
    assert resamples(5).shape == (3125, 5)
    many = resamples(12)
    assert many.shape == (10_000, 12)
    assert np.array_equal(many, resamples(12))
    assert not np.array_equal(many, resamples(12, seed=1))


def test_an_estimate_has_the_ends_of_its_draws_and_none_for_one_seed() -> None:
    found = estimate([0.2, 0.4])
    assert (found.value, found.low, found.high) == pytest.approx((0.3, 0.2, 0.4))
    assert (estimate([0.5]).low, estimate([0.5]).high) == (None, None)
    # 27 draws of three: the outermost has probability 1/27 > 2.5 %
    assert (estimate([0.0, 1.0, 5.0]).low, estimate([0.0, 1.0, 5.0]).high) == (0.0, 5.0)


def test_a_difference_is_paired_by_seed() -> None:
    found = difference([1.0, 2.0], [0.0, 2.0])  # pairs 1 and 0: draws 1, 0.5, 0.5, 0
    assert (found.value, found.low, found.high) == (0.5, 0.0, 1.0)
    assert found.ahead == (3 + 0.5) / 4
    assert difference([1.0, 2.0], [0.0, 2.0], more_is_better=False).ahead == 0.5 / 4
    same = difference([0.3, 0.9, 0.1], [0.3, 0.9, 0.1])
    assert (same.value, same.low, same.high, same.ahead) == (0.0, 0.0, 0.0, 0.5)
    assert difference([1.0], [0.0]).ahead is None


def test_a_speed_up_is_a_ratio_of_means() -> None:
    found = speed_up([8.0, 12.0], [12.0, 8.0])  # draws 12/8, 1, 1, 8/12
    assert found is not None
    assert (found.value, found.low, found.high, found.ahead) == (1.0, 8 / 12, 12 / 8, 0.5)
    assert speed_up([0.0, 0.0], [4.0, 8.0]) is None
    at_once = speed_up([0.0, 4.0], [4.0, 4.0])  # in one draw of four the arm takes no step at all
    assert at_once is not None
    assert at_once.high is None


def test_the_interval_of_a_mean_covers_it_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(0)
    covered = []
    for _ in range(100):
        found = estimate(rng.normal(0.5, 0.1, size=12).tolist())
        assert found.low is not None
        assert found.high is not None
        covered.append(found.low <= 0.5 <= found.high)
    assert 0.8 <= np.mean(covered) <= 0.99


# -- a study ----------------------------------------------------------------------------------------------------------


def test_shares_of_groups_are_means_over_steps_and_seeds(tmp_path: Path) -> None:
    for seed, shares in enumerate(([0.5, 0.25, 0.0], [1.0, 0.5, 0.0])):
        file = write_cell(tmp_path, f"grpo-seed{seed}", [(0, 0.1), (3, 0.9)]) / "metrics.jsonl"
        rows = [json.loads(line) for line in file.read_text().splitlines()]
        for row in (row for row in rows if "loss" in row):
            row["algo/equal_outcome_groups"] = shares[row["step"] - 1]
            if seed == 0:  # the other is of an earlier version
                row["algo/failed_groups"] = 0.25
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = figures(cells_of(tmp_path), metrics=["eval/compile_rate"], thresholds=[0.8], baseline="grpo")
    assert found["cells"][0]["groups"] == {"equal_outcome_groups": 0.25, "failed_groups": 0.25}
    assert found["arms"][0]["groups"] == {"equal_outcome_groups": 0.375}
    assert groups(found) == (["share of groups, in training", "equal outcomes"], [["grpo", "38 %"]])


def test_a_cell_that_never_gets_there_is_censored_and_not_dropped(tmp_path: Path) -> None:
    for seed, (mine, base) in enumerate([(4, 8), (8, 99), (99, 99)]):
        for arm, at in (("bot_grpo", mine), ("grpo", base)):
            write_cell(tmp_path, f"{arm}-seed{seed}", [(s, 0.9 if s >= at else 0.1) for s in (0, 4, 8, 12)])
    found = figures(cells_of(tmp_path), metrics=["eval/compile_rate"], thresholds=[0.8, 0.95], baseline="grpo")
    mine, base = found["arms"]
    assert (mine["reach"][0]["reached"], mine["reach"][0]["censored"], mine["reach"][0]["step"]) == (2, 1, 8.0)
    assert (base["reach"][0]["reached"], base["reach"][0]["step"]) == (1, pytest.approx(32 / 3))
    ratio = mine["against"]["reach"][0]
    assert ratio["censored"] == 3
    assert ratio["speed_up"]["value"] == pytest.approx(32 / 24)
    (heads, rows), (_, never) = to_threshold(found, 0), to_threshold(found, 1)
    assert heads[0] == "to 80 % compiles"
    assert rows[0][1:6] == ["2 of 3", "≥ 8.0", "≥ 64", "≥ 640", "≥ 16 s"]
    assert rows[0][6].endswith("*")
    assert never[0][1:6] == ["0 of 3", "> 12", "> 96", "> 960", "> 24 s"]
    assert never[0][6:] == ["", ""]  # both arms are censored everywhere: there is no ratio to tell
    said = " ".join(notes(found))
    assert "counts with the 12 steps" in said
    assert "little worth" not in said
    assert json.dumps(found, allow_nan=False)


def test_no_rounding_takes_a_share_across_a_threshold(tmp_path: Path) -> None:
    for name, last in (("bot_grpo-seed0", 0.896), ("grpo-seed0", 0.9)):
        write_cell(tmp_path, name, [(0, 0.25), (4, last)])
    found = figures(cells_of(tmp_path), metrics=["eval/compile_rate"], thresholds=[0.9], baseline="grpo")
    heads, rows = runs(found)
    shown = {row[0]: dict(zip(heads[1:], row[1:], strict=True)) for row in rows}
    assert (shown["bot_grpo, 0"]["step 4"], shown["bot_grpo, 0"]["90 % at step"]) == ("89.6", "> 4")
    assert (shown["grpo, 0"]["step 4"], shown["grpo, 0"]["90 % at step"]) == ("90", "4")
    found = figures(cells_of(tmp_path), metrics=["eval/compile_rate"], thresholds=[0.895], baseline="grpo")
    assert to_threshold(found, 0)[0][0] == "to 89.5 % compiles"


def test_an_evaluation_that_only_one_run_made_gives_it_no_better_chance(tmp_path: Path) -> None:
    write_cell(tmp_path, "grpo-seed0", CURVE)
    write_cell(
        tmp_path, "pure-seed0", [*CURVE[:2], (7, 1.0), *CURVE[2:]]
    )  # was stopped at 7, and evaluated as it went on
    found = figures(cells_of(tmp_path), metrics=["eval/compile_rate"], thresholds=[0.8], baseline="grpo")
    assert [arm["measures"]["eval/compile_rate"]["best"]["value"] for arm in found["arms"]] == [0.9, 0.9]
    assert [arm["reach"][0]["step"] for arm in found["arms"]] == [8.0, 8.0]
    assert "Not every run evaluated at step 7: these evaluations are left out." in notes(found)


def test_a_line_of_metrics_counts_for_all_steps_that_it_is_the_mean_of(tmp_path: Path) -> None:
    each, some = write_cell(tmp_path, "grpo-seed0", CURVE), write_cell(tmp_path, "pure-seed0", CURVE)
    rows = [json.loads(line) for line in (some / "metrics.jsonl").read_text().splitlines()]
    rows = [row for row in rows if "loss" not in row or row["step"] in (5, 10, 12)]  # logging_steps 5, then the end
    (some / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    ours, theirs = read_cell(each), read_cell(some)
    assert ours is not None
    assert theirs is not None
    assert theirs.spent(12) == ours.spent(12)
    assert (theirs.scoring, theirs.seconds) == (ours.scoring, ours.seconds)
    assert theirs.spent(11) == ours.spent(10)


def test_a_curve_that_not_every_cell_has_is_left_out_of_its_arm(tmp_path: Path) -> None:
    for seed, more in ((0, {"eval/completion_length": 50.0}), (1, {})):
        path = write_cell(tmp_path, f"grpo-seed{seed}", CURVE)
        rows = [json.loads(line) for line in (path / "metrics.jsonl").read_text().splitlines()]
        rows = [row | more if "eval/compile_rate" in row else row for row in rows]
        (path / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = figures(cells_of(tmp_path), metrics=["eval/compile_rate"], thresholds=[], baseline="grpo")
    assert list(found["arms"][0]["curves"]) == ["eval/compile_rate"]


def test_chance_is_by_the_samples_of_an_evaluation(tmp_path: Path) -> None:
    def said(name: str, *metrics: str, **config: Any) -> list[str]:
        write_cell(tmp_path / name, "grpo-seed0", CURVE, **config)
        return chance(metrics, cells_of(tmp_path / name))

    (one,) = said("one", "eval/compile_rate", "eval/requirements", num_generations_eval=1)
    assert "moves by up to 7 points (one standard error)" in one  # sqrt(.25 / 48)
    (as_trained,) = said("trl", "eval/compile_rate", num_generations=4)
    assert "up to 4 points" in as_trained  # without num_generations_eval TRL takes num_generations
    (each,) = said("aime", "eval/pass@1", "eval/pass@4", num_generations_eval=4)
    assert "up to 4 points of pass@1 and 7 points of pass@4 (one" in each  # 192 attempts, 48 attempts
    assert said("length", "eval/completion_length") == []
    assert said("large", "eval/compile_rate", eval_prompts=1000) == []


def test_work_counts_refilled_groups_and_every_process(tmp_path: Path) -> None:
    path = write_cell(tmp_path, "dapo-seed0", [(0, 0.1), (2, 0.2)], per_device_train_batch_size=4, num_generations=4)
    rows = [json.loads(line) for line in (path / "metrics.jsonl").read_text().splitlines()]
    (path / "metrics.jsonl").write_text(
        "".join(json.dumps(row | ({"dynamic_sampling/groups": 1.0} if row["step"] == 2 else {})) + "\n" for row in rows)
    )
    cell = read_cell(path)
    assert cell is not None
    assert [(w.rollouts, w.tokens, w.seconds) for w in cell.work] == [(4, 40, 2.0), (12, 120, 4.0)]
    (path / "rollouts").mkdir()
    (path / "rollouts" / "step-rank1-00001.parquet").touch()
    twice = read_cell(path)
    assert twice is not None
    assert [w.rollouts for w in twice.work] == [8, 20]


def test_a_cell_is_read_while_it_is_written_and_resumed(tmp_path: Path) -> None:
    path = write_cell(tmp_path, "grpo-seed3", [(0, 0.1), (4, 0.2)], done=False, steps=8)
    with (path / "metrics.jsonl").open("a") as file:
        file.write('{"step": 4, "eval/compile_rate": 0.3}\n{"step": 5, "eval/comp')
    cell = read_cell(path)
    assert cell is not None
    assert (cell.finished, cell.steps, cell.of, cell.curve("eval/compile_rate")) == (False, 4, 8, [(0, 0.1), (4, 0.3)])
    (tmp_path / "grpo-seed4").mkdir()
    assert read_cell(tmp_path / "grpo-seed4") is None
    assert [p.name for p in cell_folders(tmp_path)] == ["grpo-seed3", "grpo-seed4"]


def test_settings_that_differ_are_named_but_for_what_an_arm_is_about() -> None:
    base = {"algorithm": "bot_grpo", "w_s": 0.5, "learning_rate": 1e-4, "reward_settings": {"window": 1}, "x": None}
    one = {"bot_grpo-seed0": base | {"seed": 0}, "bot_grpo-seed1": base | {"seed": 1, "output_dir": "elsewhere"}}
    assert differences(one) == []
    other = base | {"seed": 0, "algorithm": "grpo", "algorithm_settings": {"eps": 1}}
    assert differences(one | {"grpo-seed0": other}) == []
    (line,) = differences(one | {"grpo-seed0": other | {"learning_rate": 3e-4}})
    assert line == "learning_rate: 0.0001 (bot_grpo-seed0, bot_grpo-seed1); 0.0003 (grpo-seed0)"
    assert differences(one | {"grpo-seed0": other | {"reward_settings": {"window": 3}}})[0].startswith(
        "reward_settings.window: 1"
    )
    varied = base | {"w_s": 0.0, "reward_settings": {"window": 3}}
    assert differences(one | {"bot_grpo+w_s=0+window=3-seed0": varied}) == []
    (line,) = differences(
        {"bot_grpo+w_s=0+window=3-seed0": varied, "bot_grpo+w_s=0+window=3-seed1": varied | {"w_s": 0.1}}
    )
    assert line.startswith("w_s: 0 (")
    assert differences({"grpo-seed0": base | {"seed": 0}}) == ["grpo-seed0 was trained by bot_grpo"]
    assert differences({"bot_grpo-seed0": base | {"seed": 4}}) == ["bot_grpo-seed0 was trained with seed 4"]
    (line,) = differences({"bot_grpo-seed0": base, "bot_grpo-seed1": base | {"algorithm_settings": {"eps": 1}}})
    assert line.startswith("algorithm_settings: ")
    machines = [
        base | {"seed": n, "model_dtype": d, "bf16": d == "bfloat16"} for n, d in enumerate(["bfloat16", "float32"])
    ]
    assert differences({f"bot_grpo-seed{n}": config for n, config in enumerate(machines)}) == []


def test_where_cells_come_from_is_named(tmp_path: Path) -> None:
    for seed, dtype in enumerate(["bfloat16", "float32"]):
        of = {"model_dtype": dtype, "commit": f"{seed}234567890", "versions": {"trl": f"1.{seed}", "torch": "2"}}
        write_cell(tmp_path, f"grpo-seed{seed}", CURVE, **of)
    assert origins(cells_of(tmp_path)) == [
        "the cells were made with different versions of trl: 1.0, 1.1",
        "the cells were made with different commits: 02345678, 12345678",
        "the cells were made with different dtypes: bfloat16, float32",
    ]


def test_a_setting_that_an_older_version_did_not_write_is_its_default() -> None:
    old = {"algorithm": "grpo", "learning_rate": 1e-4, "sandbox_workers": 1}
    new = old | {"sandbox_workers": "1", "max_unscored": 0.5, "stop_on_alarm": False, "rewards": [], "columns": None}
    assert differences({"grpo-seed0": old, "grpo-seed1": new}) == []
    assert len(differences({"grpo-seed0": old, "grpo-seed1": new | {"max_unscored": 0.4}})) == 1


def test_other_prompts_for_the_same_seed_are_seen(tmp_path: Path) -> None:
    for name, prompts in {"grpo-seed0": "ab", "pure-seed0": "ab", "gspo-seed0": "ba", "grpo-seed1": "cd"}.items():
        path = write_cell(tmp_path, name, CURVE)
        (path / "rollouts").mkdir()
        pq.write_table(pa.table({"prompt": list(prompts)}), path / "rollouts" / "step-00001.parquet")
    assert other_prompts(cells_of(tmp_path)) == ["gspo-seed0 saw other prompts than grpo-seed0, first in step-00001"]


# -- the command ------------------------------------------------------------------------------------------------------

COMMAND = ["compare", str(STORED), "--metric", "eval/compile_rate", "eval/requirements"]


def test_the_stored_cells_give_the_tables_and_the_picture_of_the_readme(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*COMMAND, "--output", str(tmp_path)]) == 0
    assert "of little worth" in capsys.readouterr().out
    made, readme = (tmp_path / "compare.md").read_text(), (ROOT / "README.md").read_text()
    assert made == (STORED / "compare.md").read_text()
    assert (tmp_path / "curves.svg").read_text() == (STORED / "curves.svg").read_text()
    tables = [part for part in made.split("\n\n") if part.startswith("|")]
    assert tables[-1] in readme
    assert next(table for table in tables if table.startswith("| to 80 %")) in readme
    found = json.loads((tmp_path / "compare.json").read_text())
    reach = {cell["name"]: cell["reach"][0]["step"] for cell in found["cells"]}
    assert reach == {"bot_grpo-seed0": 12, "bot_grpo-seed1": 8, "grpo-seed0": 8, "grpo-seed1": 12}
    assert (found["horizon"], found["left_out"], found["baseline"]) == (20, [], "grpo")


@pytest.mark.parametrize(
    ("study", "words", "table"),
    [
        ("react-parts-smollm2-cpu", ["--metric", "eval/compile_rate", "eval/requirements"], "| to 80 %"),
        ("react-smollm2-cpu-float32", ["--metric", "eval/compile_rate", "eval/requirements"], "| compiles / req"),
        ("react-parts-smollm2-cpu-float32", ["--metric", "eval/compile_rate", "eval/requirements"], "| compiles / req"),
        ("react-smollm2-cpu-sparse", ["--metric", "eval/compile_rate", "eval/requirements"], "| share of groups"),
        ("aime-smollm2-cpu", ["--metric", "eval/pass@1", "eval/pass@4", "--threshold", ".2"], "| to 20 %"),
    ],
)
def test_the_other_stored_cells_give_theirs(study: str, words: list[str], table: str, tmp_path: Path) -> None:
    stored = STORED.with_name(study)
    assert main(["compare", str(stored), *words, "--output", str(tmp_path)]) == 0
    made, readme = (tmp_path / "compare.md").read_text(), (ROOT / "README.md").read_text()
    assert made == (stored / "compare.md").read_text()
    assert (tmp_path / "curves.svg").read_text() == (stored / "curves.svg").read_text()
    tables = [part for part in made.split("\n\n") if part.startswith("|")]
    assert tables[-1] in readme
    assert next(one for one in tables if one.startswith(table)) in readme


def test_unlike_cells_are_refused_by_name_and_compared_by_force(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_cell(tmp_path, "grpo-seed0", CURVE)
    write_cell(tmp_path, "pure-seed0", CURVE, learning_rate=1e-3)
    assert main(["compare", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "learning_rate: 0.0001 (grpo-seed0); 0.001 (pure-seed0)" in error
    assert not (tmp_path / "compare.md").exists()
    assert main(["compare", str(tmp_path), "--force"]) == 0
    assert "Not comparable (--force): learning_rate" in (tmp_path / "compare.md").read_text()


def test_an_unfinished_cell_is_missing_and_exit_code_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_cell(tmp_path, "grpo-seed0", CURVE)
    write_cell(tmp_path, "pure-seed0", CURVE, done=False, steps=20, max_steps=12)
    (tmp_path / "pure-seed0" / "summary.json").write_text('{"finished": false, "of": 12}')
    assert main(["compare", str(tmp_path)]) == 1
    assert "missing: pure-seed0: stopped, or is running, at step 12 of 12" in capsys.readouterr().out
    assert "* pure-seed0: stopped" in (tmp_path / "compare.md").read_text()


def test_a_cell_that_was_begun_and_has_no_measure_yet_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_cell(tmp_path, "grpo-seed0", CURVE)
    (write_cell(tmp_path, "pure-seed0", CURVE) / "metrics.jsonl").write_text("")
    (tmp_path / "not-a-cell-seed0").mkdir()
    assert main(["compare", str(tmp_path)]) == 1
    assert "missing: pure-seed0: nothing was measured in it" in capsys.readouterr().out
    assert "not-a-cell" not in (tmp_path / "compare.md").read_text()
    assert main(["compare", str(tmp_path), "--algorithms", "grpo"]) == 0


BAD = [
    ([], "give a STUDY to read, or --config"),
    (["/nowhere"], "there is no folder /nowhere"),
    (["EMPTY"], "holds no such cell"),
    ([str(STORED), "--seeds", "7"], "holds no such cell"),
    ([str(STORED), "--seeds", "0-"], "0-4 or 0,1,7"),
    ([str(STORED), "--seeds", "1,0-2"], "each seed once"),
    ([str(STORED), "--algorithms", "grpo,grpo"], "each once"),
    ([str(STORED), "--baseline", "pure"], "not among the arms: bot_grpo, grpo"),
    ([str(STORED), "--metric", "eval/accuracy"], "it has: "),
    ([str(STORED), "--threshold", "many"], "a number is wanted"),
    ([str(STORED), "--threshold", ".8", "80"], "--threshold 80: eval/compile_rate is a share, from 0 to 1"),
    (["--config", "react-smollm2-cpu", "--threshold", "80"], "--threshold 80: eval/compile_rate is a share"),
    ([str(STORED), "--what-if", "w_s=0"], "need --config"),
    ([str(STORED), "--workers", "0"], "from 1"),
    ([str(STORED), "--seeds", "0-99999"], "'0-99999' are more than a thousand seeds"),
    ([str(STORED), "--launcher", "srun 'x"], "a quotation mark that is not closed?"),
    (["--config", "react-smollm2-cpu", "--dry-run", "--what-if", "learning_rate=nan"], "a finite number"),
    (["--config", "react-smollm2-cpu", "--dry-run", "--what-if", "window=-3"], "0 to 1000, not -3"),
]


@pytest.mark.parametrize(("words", "says"), BAD, ids=lambda value: " ".join(value) if isinstance(value, list) else "")
def test_bad_input_is_one_line_and_exit_code_2(
    words: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [str(tmp_path) if word == "EMPTY" else word for word in words]
    assert main(["compare", *words, *(["--output", str(tmp_path / "out")] if words else [])]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert says in error


def test_a_folder_that_cannot_be_written_is_seen_before_the_tables(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", str(STORED), "--output", "/proc/none/here"]) == 2
    seen = capsys.readouterr()
    assert seen.out == ""
    assert "cannot write /proc/none" in seen.err


def test_one_seed_and_one_arm_are_written_without_intervals(tmp_path: Path) -> None:
    shutil.copytree(STORED / "grpo-seed0", tmp_path / "grpo-seed0")
    assert main(["compare", str(tmp_path)]) == 0
    text = (tmp_path / "compare.md").read_text()
    assert "| grpo | 1 | 90 % | 90 % | 0 % | 69 % |" in text
    assert "minus grpo" not in text


def test_names_are_text_in_the_picture_and_in_the_document(tmp_path: Path) -> None:
    write_cell(tmp_path, "grpo-seed0", CURVE)
    found = figures(cells_of(tmp_path), metrics=["eval/compile_rate"], thresholds=[0.8], baseline="grpo")
    found["arms"][0]["name"] = "<script>&"
    assert "<script>" not in picture(found)
    assert "&lt;script&gt;&amp;" in picture(found)
    assert document(found | {"missing": [], "notes": []}, "t").startswith("# t\n\n| compiles |")


def test_a_metric_that_is_missing_says_what_there_is(tmp_path: Path) -> None:
    write_cell(tmp_path, "grpo-seed0", CURVE)
    with pytest.raises(UserError, match="grpo-seed0 has no eval/accuracy; it has: eval/compile_rate, eval/runtime"):
        figures(cells_of(tmp_path), metrics=["eval/accuracy"], thresholds=[], baseline="grpo")
