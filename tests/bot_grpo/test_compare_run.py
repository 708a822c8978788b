"""Cells of a study in processes of their own: crashes, budgets, locks, arms; and the real thing, killed and resumed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from bot_grpo import compare_run
from bot_grpo.cli import main
from bot_grpo.compare_run import Planned, arm_name, command, held, run_cells, state
from bot_grpo.errors import UserError
from bot_grpo.rundir import RunDir

STUB = """
import json, pathlib, sys, time
words = sys.argv[1:]
out = pathlib.Path(words[words.index("--output_dir") + 1])
if "crash" in words and not pathlib.Path(words[words.index("crash") + 1]).exists():
    print("bot-grpo train: the reward model has no mouth")
    sys.exit(3)
if "die" in words:
    import os; os.kill(os.getpid(), 9)
time.sleep(float(words[words.index("sleep") + 1]) if "sleep" in words else 0)
assert not out.exists(), "a cell without a checkpoint begins in an empty folder"
out.mkdir(parents=True)
(out / "config.yaml").write_text("max_steps: 2\\n")
rows = [{"step": 0, "eval/compile_rate": 0.25}, {"step": 2, "loss": 0, "seconds/step": 5.0}]
rows += [{"step": 2, "eval/compile_rate": 0.75}]
(out / "metrics.jsonl").write_text("".join(json.dumps(row) + "\\n" for row in rows))
(out / "summary.json").write_text(json.dumps({"finished": True, "of": 2, "seconds": 100.0}))
"""


@pytest.fixture
def stub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stub in the place of `bot-grpo train`: it writes a finished cell at once, or does as its flags say."""
    file = tmp_path / "stub_train.py"
    file.write_text(STUB)
    monkeypatch.setattr(compare_run, "_MODULE", (str(file),))
    return tmp_path / "study"


def cell(study: Path, name: str, *flags: str) -> Planned:
    arm, seed = name.rsplit("-seed", 1)
    return Planned(arm, int(seed), study / name, flags)


def run(cells: list[Planned], study: Path, **options: Any) -> tuple[dict[str, str], list[str]]:
    said: list[str] = []
    return run_cells(cells, study, metric="eval/compile_rate", say=said.append, poll_s=0.05, **options), said


def test_a_crash_costs_its_own_cell_which_is_made_up_for_the_next_time(stub: Path, tmp_path: Path) -> None:
    mended = tmp_path / "mended"
    cells = [cell(stub, "grpo-seed0"), cell(stub, "pure-seed0", "crash", str(mended)), cell(stub, "grpo-seed1")]
    why, said = run(cells, stub)
    assert list(why) == ["pure-seed0"]
    assert "exit code 3" in why["pure-seed0"]
    assert "the reward model has no mouth" in why["pure-seed0"]
    assert [state(c.path) for c in cells] == ["done", "new", "done"]
    assert "grpo-seed0: step 2 of 2, compiles 75 %" in said
    mended.touch()
    why, said = run(cells, stub)
    assert why == {}
    assert not any(line.startswith("grpo") for line in said)


def test_a_killed_cell_says_so(stub: Path) -> None:
    why, _ = run([cell(stub, "grpo-seed0", "die")], stub)
    assert why["grpo-seed0"].startswith("killed by signal 9")


def test_no_cell_starts_that_would_not_end_within_the_budget(stub: Path) -> None:
    cells = [cell(stub, f"grpo-seed{i}") for i in range(3)]
    assert run(cells[:1], stub, budget_s=30.0)[0] == {}  # nothing is known of how long one takes
    why, _ = run(cells, stub, budget_s=90.0)  # a cell that is done took 100 s, by its summary
    assert list(why) == ["grpo-seed1", "grpo-seed2"]
    assert "takes about 1 min 40 s" in why["grpo-seed1"]
    assert run(cells, stub, budget_s=130.0)[0] == {}


def test_workers_run_side_by_side_and_share_the_cores(stub: Path) -> None:
    cells = [cell(stub, f"grpo-seed{i}", "sleep", "1.5") for i in range(2)]
    _, said = run(cells, stub, workers=2)
    assert ["begins" in line for line in said[:2]] == [True, True]


def test_what_has_no_checkpoint_is_set_aside_and_not_deleted(stub: Path) -> None:
    began = stub / "grpo-seed0"
    began.mkdir(parents=True)
    (began / "metrics.jsonl").write_text('{"step": 0}\n')
    assert state(began) == "again"
    assert run([cell(stub, "grpo-seed0")], stub)[0] == {}
    assert (stub / "set-aside" / "grpo-seed0.1" / "metrics.jsonl").read_text() == '{"step": 0}\n'


def test_two_comparisons_never_work_in_one_study(stub: Path) -> None:
    with held(stub), pytest.raises(UserError, match="another comparison"):
        run([cell(stub, "grpo-seed0")], stub)
    assert run([cell(stub, "grpo-seed0")], stub)[0] == {}


def test_a_launcher_stands_before_the_command(tmp_path: Path) -> None:
    planned = cell(tmp_path, "grpo-seed0", "--config", "c")
    words = ["-m", "bot_grpo", "train", "--config", "c", "--output_dir", str(tmp_path / "grpo-seed0")]
    assert command(planned) == [sys.executable, *words]
    found = command(planned, ["accelerate", "launch", "--num_processes", "2"])
    assert Path(found[0]).name == "accelerate"
    assert found[1:] == ["launch", "--num_processes", "2", *words]
    assert command(planned, ["env", "A=1"])[1:] == ["A=1", sys.executable, *words]
    assert command(planned, ["ray://h:1"])[1:4] == ["-m", "bot_grpo.ray_launch", "ray://h:1"]
    assert command(planned, ["ray?gpus=1"])[3:] == ["ray?gpus=1", sys.executable, *words]
    with pytest.raises(UserError, match="no command 'srunn'"):
        command(planned, ["srunn"])


def test_names_of_arms_are_folders_and_differ_where_the_changes_do() -> None:
    assert arm_name("bot_grpo", ["w_s=0.1", "window=3"]) == "bot_grpo+w_s=0.1+window=3"
    a, b = arm_name("grpo", ["rewards=a/b"]), arm_name("grpo", ["rewards=a b"])
    assert a != b
    assert "/" not in a
    assert len(arm_name("grpo", ["prompts=" + "x" * 300])) < 120


# -- arms (imports torch and TRL) -------------------------------------------------------------------------------------


def test_arms_take_the_same_rollouts_and_what_ifs_find_their_setting() -> None:
    from bot_grpo.compare_arms import make_arms

    changes = [
        ["w_s=0"],
        ["window=3", "first_error_only=false"],
        ["sigma_floor=0", "length_weighted=false"],
        ["grpo", "outcome=token_mean"],
    ]
    arms = make_arms("react-smollm2-cpu", ["bot_grpo", "dapo"], changes, ["--max_steps", "4"])
    assert [arm.name for arm in arms] == [
        "bot_grpo",
        "dapo",
        "bot_grpo+w_s=0",
        "bot_grpo+window=3+first_error_only=false",
        "bot_grpo+sigma_floor=0+length_weighted=false",
        "grpo+outcome=token_mean",
    ]
    assert {arm.config["dynamic_sampling"] for arm in arms} == {0}
    assert {arm.config["max_steps"] for arm in arms} == {4}
    base, _, w_s, window, sigma, grpo = (arm.config for arm in arms)
    assert (base["w_s"], w_s["w_s"]) == (0.5, 0)
    assert window["reward_settings"] == base["reward_settings"] | {"window": 3, "first_error_only": False}
    assert sigma["algorithm_settings"] == {"sigma_floor": 0, "length_weighted": False}
    assert grpo["algorithm_settings"] == {"outcome": "token_mean"}
    planned = arms[2].cell(Path("study"), 3)
    assert planned.path == Path("study/bot_grpo+w_s=0-seed3")
    assert planned.flags[-2:] == ("--seed", "3")


BAD = [
    (["--algorithms", "bot_grop"], "bot_grop"),
    (["--config", "no-such"], "neither a file nor a recipe"),
    (["--what-if", "w_s"], "KEY=VALUE"),
    (["--what-if", "w_s=-1"], "w_s must be"),
    (["--what-if", "windo=3"], "windo"),
    (["--what-if", "bot_grop", "w_s=0"], "bot_grop"),
    (["--what-if", "w_s=0", "--what-if", "w_s=0"], "asked for twice"),
    (["--baseline", "pure"], "not among the arms"),
    (["--", "--eval_prompts", "0"], "compared by their evaluations"),
    (["--launcher", "srunn -n 1"], "no command 'srunn'"),
    (["--", "--no_such_flag", "1"], "unknown setting --no_such_flag"),
]


@pytest.mark.parametrize(("words", "says"), BAD, ids=lambda value: " ".join(value) if isinstance(value, list) else "")
def test_what_no_run_could_start_with_is_said_before_any_does(
    words: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = tmp_path / "study"
    assert main(["compare", str(study), "--config", "react-smollm2-cpu", *words]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1, error
    assert says in error
    assert not study.exists()


def test_a_dry_run_lists_the_cells_and_what_differs_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from bot_grpo.compare_arms import make_arms

    done = tmp_path / "grpo-seed0"
    done.mkdir()
    (arm,) = make_arms("react-smollm2-cpu", ["grpo"], [])
    (done / "config.yaml").write_text(yaml.safe_dump({**arm.config, "seed": 0}))
    (done / "metrics.jsonl").write_text('{"step": 0, "eval/compile_rate": 0.2}\n')
    (done / "summary.json").write_text('{"finished": true, "seconds": 600, "of": 20}')
    asked = ["compare", str(tmp_path), "--config", "react-smollm2-cpu", "--seeds", "0,1", "--dry-run"]
    assert main([*asked, "--budget-hours", "0.25"]) == 0
    out = capsys.readouterr().out
    assert "bot_grpo-seed0: to train\ngrpo-seed0: done\nbot_grpo-seed1: to train\n" in out
    assert "3 cells to train, about 30 min 0 s" in out
    assert "more than the 0.25 h" in out
    assert main([*asked, "--", "--learning_rate", "1e-5"]) == 2
    assert "learning_rate: 1e-05" in capsys.readouterr().err
    assert sorted(p.name for p in tmp_path.iterdir()) == ["grpo-seed0"]


# -- the real thing ---------------------------------------------------------------------------------------------------

TINY = """
    --model_dtype float32 --bf16 false --max_completion_length 16 --cold_start_steps 1 --cold_start_batch_size 2
    --eval_prompts 3 --per_device_train_batch_size 2 --gradient_accumulation_steps 2 --num_generations 2
    --per_device_eval_batch_size 3 --eval_steps 2 --save_steps 2 --lora_r 2
""".split()  # noqa: SIM905


def started(study: Path, tiny: Path, steps: int) -> subprocess.Popen[str]:
    words = ["compare", str(study), "--config", "react-smollm2-cpu", "--algorithms", "bot_grpo,grpo", "--seeds", "0"]
    extra = ["--", *TINY, "--model", str(tiny), "--max_steps", str(steps)]
    return subprocess.Popen(
        [sys.executable, "-m", "bot_grpo", *words, *extra], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def wait_for(study: Path, name: str, step: int, process: subprocess.Popen[str]) -> None:
    """Until a cell has a checkpoint of `step` or later, and has gone on."""
    run, deadline = RunDir(study / name), time.monotonic() + 900
    while process.poll() is None and time.monotonic() < deadline:
        last = run.last_checkpoint()
        if last is not None and int(last.name.rsplit("-", 1)[-1]) >= step:
            return
        time.sleep(0.1)
    pytest.fail(f"no checkpoint of {name}: {process.communicate(timeout=60)[0]}")


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.timeout(5400)
def test_a_study_that_is_killed_and_stopped_goes_on_where_it_was(tmp_path: Path) -> None:
    from tiny import save_tiny_model

    tiny, study = save_tiny_model(tmp_path / "tiny"), tmp_path / "study"
    # A cell is killed: the other one is trained all the same.
    process = started(study, tiny, 12)
    wait_for(study, "bot_grpo-seed0", 4, process)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    os.kill(int(children[0]), signal.SIGKILL)
    out = process.communicate(timeout=1800)[0]
    assert process.returncode == 1, out
    assert "missing: bot_grpo-seed0: killed by signal 9" in out
    assert state(study / "grpo-seed0") == "done"
    assert state(study / "bot_grpo-seed0") == "resume"
    # Ctrl-C lets the running cell save a checkpoint.
    process = started(study, tiny, 12)
    wait_for(study, "bot_grpo-seed0", 6, process)
    process.send_signal(signal.SIGINT)
    out = process.communicate(timeout=900)[0]
    assert "stopping the running cells after their step" in out
    if process.returncode:  # else its last step was done before the signal came
        assert "missing: bot_grpo-seed0: ended at step" in out, out
        process = started(study, tiny, 12)
        out = process.communicate(timeout=1800)[0]
    assert process.returncode == 0, out
    assert "grpo-seed0: begins" not in out
    for name in ("bot_grpo-seed0", "grpo-seed0"):
        steps = [row["step"] for row in RunDir(study / name).read_metrics() if "loss" in row]
        assert steps == list(range(1, 13))
    found = json.loads((study / "compare.json").read_text())
    assert [arm["name"] for arm in found["arms"]] == ["bot_grpo", "grpo"]
    assert found["missing"] == []
    assert found["cells"][0]["spent"]["rollouts"] == 12 * 4
    assert (study / "compare.html").stat().st_size > 20_000


@pytest.mark.slow
def test_a_command_on_a_ray_cluster_ends_as_it_ends_and_hears_ctrl_c(tmp_path: Path) -> None:
    os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"  # read by `import ray`: this machine's address is 127.0.0.1
    ray = pytest.importorskip("ray")
    ray.init("local", num_cpus=1, include_dashboard=False, log_to_driver=False, object_store_memory=100 << 20)
    try:
        environment = {**os.environ, "RAY_ADDRESS": ray.get_runtime_context().gcs_address}
        launch = [sys.executable, "-m", "bot_grpo.ray_launch", "ray?cpus=1", sys.executable, "-c"]
        code = "import os, sys; print(os.getcwd(), 'x' * 70_000); sys.exit(3)"
        done = subprocess.run([*launch, code], capture_output=True, text=True, env=environment, timeout=200)
        assert (done.returncode, done.stdout) == (3, f"{os.getcwd()} {'x' * 70_000}\n"), done.stderr
        waits = "import signal, sys, time; signal.signal(2, lambda *_: sys.exit(1)); print('there', flush=True)"
        waits += "; time.sleep(200)"
        process = subprocess.Popen([*launch, waits], stdout=subprocess.PIPE, text=True, env=environment)
        assert process.stdout is not None
        assert process.stdout.readline() == "there\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=100) == 1
    finally:
        ray.shutdown()
