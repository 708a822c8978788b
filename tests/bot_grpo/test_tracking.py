"""Trackers get what a run's files say, by the same names. TensorBoard is the real one, read by its own reader."""

from __future__ import annotations

import html
import io
import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from PIL import Image
from rich.console import Console
from tensorboard.backend.event_processing.event_accumulator import TENSORS, EventAccumulator
from tiny import save_tiny_model

from bot_grpo import tracking
from bot_grpo.cli import main
from bot_grpo.cli.train import parse
from bot_grpo.rundir import RunDir
from bot_grpo.trackers import OPEN, Update

SETTINGS = """
    --task aime --prompts arithmetic:1 --algorithm bot_grpo --model_dtype float32 --bf16 false --lora_r 2 --seed 5
    --num_generations 2 --max_completion_length 6 --eval_prompts 2 --per_device_train_batch_size 4 --save_steps 1
    --eval_strategy steps --eval_steps 2 --logging_steps 1 --use_cpu true --learning_rate 0.01
""".split()  # noqa: SIM905
ALL: dict[str, Any] = dict.fromkeys((TENSORS, "scalars", "images"), 0)


def train(out: Path, *flags: str) -> int:
    rewards = json.dumps([{"model": "bot_grpo.step_bench:Hash"}])
    return main(["train", *SETTINGS, "--rewards", rewards, "--output_dir", str(out), *flags])


def events(run: Path) -> EventAccumulator:
    found = EventAccumulator(str(run / "tensorboard"), size_guidance=ALL)
    found.Reload()
    return found


def figures(run: Path) -> dict[str, list[tuple[int, float]]]:
    found = events(run)
    return {name: [(e.step, e.value) for e in found.Scalars(name)] for name in found.Tags()["scalars"]}


def logged(run: Path) -> dict[str, list[tuple[int, float]]]:
    """What metrics.jsonl has, in the same form."""
    found: dict[str, list[tuple[int, float]]] = {}
    for row in RunDir(run).read_metrics():
        for name, value in row.items():
            if name != "step" and isinstance(value, int | float):
                found.setdefault(name, []).append((row["step"], pytest.approx(value, rel=1e-6)))
    return found


def table(run: Path, name: str) -> dict[int, list[list[str]]]:
    """The cells of a table by step; its first row has the columns' names."""
    found = {}
    for event in events(run).Tensors(name):
        rows, columns = (dim.size for dim in event.tensor_proto.tensor_shape.dim)
        cells = [cell.decode() for cell in event.tensor_proto.string_val]
        assert len(cells) == rows * columns
        found[event.step] = [cells[i * columns : (i + 1) * columns] for i in range(rows)]
    return found


def text_of(markdown: str) -> str:
    """What a cell shows."""
    return html.unescape(markdown.replace("<br>", "\n")).replace("\xa0", " ")


# -- a real run -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of one step that went on to two."""
    place = tmp_path_factory.mktemp("tracked")
    flags = ["--model", str(save_tiny_model(place / "tiny")), "--report_to", "tensorboard"]
    assert train(place / "run", *flags, "--max_steps", "1") == 0
    assert train(place / "run", *flags, "--max_steps", "2", "--resume", "auto") == 0
    return place / "run"


def test_every_figure_is_there_under_its_name_and_once(run: Path) -> None:
    assert figures(run) == logged(run)
    names = set(figures(run))
    assert {"reward", "eval/reward", "algo/sigma", "seconds/step"} <= names
    assert not [name for name in names if name.startswith("train/")]  # transformers' own names


def test_the_completions_are_a_table_of_each_step(run: Path) -> None:
    training, held_out = table(run, "completions"), table(run, "eval/completions")
    assert sorted(training) == [1, 2]
    assert sorted(held_out) == [1, 2]
    columns, *rows = training[2]
    assert {"**prompt**", "**completion**", "**reward**", "**outcome**", "**advantage**"} <= set(columns)
    assert len(rows) == 4
    kept = tracking.completions(RunDir(run), "train", 2, "")[0]
    column = columns.index("**completion**")
    assert [text_of(row[column]) for row in rows] == [one["completion"] for one in kept]


def test_the_settings_are_there_and_the_run_keeps_what_it_was_told(run: Path) -> None:
    assert "algorithm: bot_grpo" in text_of(events(run).Tensors("config")[0].tensor_proto.string_val[0].decode())
    assert RunDir(run).read_config()["report_to"] == ["tensorboard"]


# -- what is sent -----------------------------------------------------------------------------------------------------


def written(folder: Path) -> RunDir:
    """A run's folder with nothing in it."""
    run = RunDir(folder)
    run.create(resume=False)
    return run


def rollout(run: RunDir, group: int, place: int, **changes: Any) -> dict[str, Any]:
    Image.new("RGB", (40, 30), (10 * group, 10 * place, 0)).save(run.screenshots / f"{group}-{place}.png")
    row = {"group": group, "prompt": f"prompt {group}", "completion": f"answer {group}-{place}", "outcome": 1.0}
    row |= {"token_rewards": [1.0, 0.5], "advantages": [0.5, -1.5], "status": "ok", "scored": True, "truncated": False}
    return row | {"screenshot": f"screenshots/{group}-{place}.png"} | changes


def test_a_table_has_the_first_of_each_prompt_first_and_ends(tmp_path: Path) -> None:
    run = written(tmp_path / "run")
    for rank in range(2):  # the files of two processes
        rows = [rollout(run, 2 * rank + g, place) for g in range(2) for place in range(20)]
        run.write_rollouts(f"step-rank{rank}-00007", rows)
    run.write_rollouts("step-rank0-00017", [rollout(run, 0, 0, completion="of another step")])
    rows, pictures = tracking.completions(run, "train", 7, "")
    assert [row["completion"] for row in rows[:6]] == [
        f"answer {g}-{p}" for p, g in [*((0, g) for g in range(4)), (1, 0), (1, 1)]
    ]
    assert len(rows) == tracking.ROWS
    assert list(pictures) == [f"screenshots/{n}" for n in range(1, tracking.PICTURES + 1)]
    assert [row["screenshot"] for row in rows[:9]] == [*pictures, None]
    assert pictures["screenshots/5"] == run.screenshots / "0-1.png"


def test_a_row_says_what_there_is_and_leaves_out_what_nobody_has(tmp_path: Path) -> None:
    run = written(tmp_path / "run")
    met = [{"check": "a", "met": True, "reason": ""}, {"check": "b", "met": False, "reason": "no"}]
    found = [{"source": "esbuild", "severity": "error", "line": 3, "column": 1, "message": "odd"}]
    bad = {"outcome": None, "token_rewards": [0.0], "advantages": [0.0], "reason": "it hung", "screenshot": None}
    run.write_rollouts(
        "eval-00002", [rollout(run, 0, 0, requirements=met, diagnostics=found), rollout(run, 0, 1, **bad)]
    )
    (good, lost), pictures = tracking.completions(run, "eval", 2, "eval/")
    assert good | {"reward": 0.75, "advantage": -0.5, "requirements": "1 of 2", "diagnostics": "line 3: odd"} == good
    assert (lost["reward"], lost["outcome"], lost["not scored"]) == (None, None, "it hung")
    assert "answer" not in good
    assert good["screenshot"] == "eval/screenshots/1"
    assert list(pictures) == ["eval/screenshots/1"]


def test_what_is_not_known_is_a_gap_and_alarms_are_text(tmp_path: Path) -> None:
    run = written(tmp_path / "run")
    update = tracking.update_of(run, {"step": 4, "reward": 0.0, "reward_std": None})
    assert (update.figures, update.tables) == ({"reward": 0.0}, {})
    assert tracking.update_of(run, {"step": 4, "alarms": ["kl_spike: ..."]}).alarms == ["kl_spike: ..."]
    run.log({"step": 4, "alarms": ["kl_spike: a", "flat_groups: b"]})
    follow(run, "tensorboard").close()
    (alarms,) = events(run.path).Tensors("alarms")
    assert (alarms.step, text_of(alarms.tensor_proto.string_val[0].decode())) == (4, "kl_spike: a\nflat_groups: b")


# -- TensorBoard ------------------------------------------------------------------------------------------------------


def follow(run: RunDir, name: str, console: Console | None = None) -> tracking.Tracking:
    followed = tracking.Tracking(run, console or Console(file=io.StringIO(), width=400))
    followed.open(name, SimpleNamespace(run_name=None, project="huggingface"))
    return followed


def test_steps_that_resuming_cut_off_are_purged_and_come_again(tmp_path: Path) -> None:
    run = written(tmp_path / "run")
    first = follow(run, "tensorboard")
    for step in (1, 2, 3):
        run.log({"step": step, "loss": float(step)})
        run.log({"step": step, "eval/loss": float(step)})
        first.follow()
    run.cut_back(1)  # as after a kill
    second = follow(run, "tensorboard")
    run.log({"step": 2, "loss": 20.0})
    second.close()
    assert figures(run.path) == {"loss": [(1, 1.0), (2, 20.0)], "eval/loss": [(1, 1.0)]}


def test_a_tracker_that_is_named_later_gets_all_of_it(tmp_path: Path) -> None:
    run = written(tmp_path / "run")
    for step in (1, 2):
        run.log({"step": step, "loss": float(step)})
    with run.metrics_path.open("a") as file:
        file.write('{"step": 3, "lo')  # half a line, as one may find it
    followed = follow(run, "tensorboard")
    followed.follow()
    with run.metrics_path.open("a") as file:
        file.write('ss": 3.0}\n')
    followed.close()
    assert figures(run.path) == {"loss": [(1, 1.0), (2, 2.0), (3, 3.0)]}


def test_pictures_arrive_as_they_are(tmp_path: Path) -> None:
    run = written(tmp_path / "run")
    run.write_rollouts("step-00001", [rollout(run, 3, 5)])
    run.log({"step": 1, "loss": 1.0})
    follow(run, "tensorboard").close()
    (picture,) = events(run.path).Images("screenshots/1")
    assert picture.encoded_image_string == (run.screenshots / "3-5.png").read_bytes()
    assert (picture.width, picture.height) == (40, 30)


@pytest.mark.filterwarnings("ignore:html5lib's sanitizer:DeprecationWarning")
def test_text_of_a_completion_is_shown_as_it_is(tmp_path: Path) -> None:
    from tensorboard.plugins.text.text_plugin import text_array_to_html
    from tensorboard.util.tensor_util import make_ndarray

    text = "```tsx\n    <b onclick='x'>*hi*</b> <img src=x>\n```\n1. a\n| a | b |\n--- &amp; \\"
    run = written(tmp_path / "run")
    run.write_rollouts("step-00001", [rollout(run, 0, 0, completion=text)])
    run.log({"step": 1, "loss": 1.0})
    follow(run, "tensorboard").close()
    shown = text_array_to_html(make_ndarray(events(run.path).Tensors("completions")[0].tensor_proto), True)
    (cell,) = (cell for cell in re.findall(r"<td>(.*?)</td>", shown, re.DOTALL) if "tsx" in cell)
    assert set(re.findall(r"<[^>]*>", cell)) == {"<p>", "</p>", "<br>"}
    assert text_of(re.sub("</?p>", "", cell)).strip() == text


# -- when something is wrong ------------------------------------------------------------------------------------------


class FailingStub:
    """A STUB of a tracker: has `good` updates, then raises."""

    good = 1
    where = "nowhere"

    def __init__(self, run: RunDir, args: Any, state: dict[str, Any]) -> None:
        self.got: list[Update] = []
        self.had: dict[str, int] = {}

    def send(self, update: Update) -> None:
        if len(self.got) == self.good:
            raise ConnectionError("the server is gone\nfor good")
        self.got.append(update)

    def close(self, failed: bool) -> None:
        raise AssertionError("a tracker that failed is left alone")


def test_a_tracker_that_fails_costs_one_line_and_gets_the_rest_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, console = written(tmp_path / "run"), Console(file=io.StringIO(), width=400)
    monkeypatch.setitem(OPEN, "wandb", FailingStub)
    followed = follow(run, "wandb", console)
    followed.open("tensorboard", SimpleNamespace(run_name=None, project="huggingface"))
    for step in (1, 2, 3):
        run.log({"step": step, "loss": float(step)})
        followed.follow()
    followed.close()
    assert figures(run.path) == {"loss": [(1, 1.0), (2, 2.0), (3, 3.0)]}
    said = [line for line in console.file.getvalue().splitlines() if line.startswith("wandb fails")]
    assert said == [
        f"wandb fails, and the training goes on without it: the server is gone; what it lacks is in {run.path}, and "
        "goes to it when the run is resumed"
    ]
    kept = json.loads((run.path / ".trackers.json").read_text())
    assert kept["wandb"]["steps"] == {"train": 1}


def test_only_the_main_process_has_trackers(tmp_path: Path) -> None:
    run = written(tmp_path / "run")
    args = SimpleNamespace(report_to=["tensorboard", "mlflow"], process_index=1)
    with tracking.following(args, run, ["tensorboard"], Console()) as followed:
        followed.follow()
    assert args.report_to == ["mlflow"]
    assert not (run.path / "tensorboard").exists()


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ("tensorbord", "report_to: there is no tracker 'tensorbord'; did you mean 'tensorboard'?"),
        ("x", "report_to: there is no tracker 'x'; there are tensorboard, trackio, wandb, all and none"),
        ("tensorboard,wandb", "report_to: wandb is not installed here: pip install 'bot-grpo[track]'"),
        ("neptune", "report_to: neptune is not installed here"),
    ],
)
def test_a_tracker_that_is_not_there_is_refused_at_once(
    names: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = tracking.find_spec
    monkeypatch.setattr(tracking, "find_spec", lambda name: None if name == "wandb" else found(name))
    assert train(tmp_path / "run", "--report_to", names) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"bot-grpo train: {said}")
    assert not (tmp_path / "run").exists()


def test_a_folder_is_no_tracker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "wandb_of_a_run").mkdir()
    monkeypatch.syspath_prepend(str(tmp_path))
    assert not tracking._is_installed("wandb_of_a_run")


def test_several_all_and_none(tmp_path: Path) -> None:
    words = [*SETTINGS, "--output_dir", str(tmp_path), "--report_to"]
    assert tracking.chosen(parse([*words, "tensorboard, tensorboard"])) == ["tensorboard"]
    assert tracking.chosen(parse([*words, "none"])) == []
    assert tracking.chosen(SimpleNamespace(report_to=[None])) == []  # null in a config
    assert "tensorboard" in tracking.chosen(parse([*words, "all"]))
