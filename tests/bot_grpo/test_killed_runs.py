"""A run that is killed, at any moment, and resumed ends with the numbers of one that was not: bit for bit, on a CPU."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import torch
from safetensors.torch import load_file
from tiny import save_tiny_model
from tiny_trainer import byte_tokenizer, tiny_llama

from bot_grpo.rundir import RunDir
from sandbox.processes import descendants

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

HERE = Path(__file__).parent
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": f"{HERE}{os.pathsep}{HERE.parent.parent}"}
REWARD = json.dumps({"model": "tiny_trainer:StubReward", "args": {"levels": 2}})
# Three steps are a pass over the prompts. There is a cold start, and an evaluation and a checkpoint every other step.
FLAGS = f"""
    --config aime-smollm2-cpu --model_dtype float32 --bf16 false --attn_implementation sdpa --lora_r 2
    --rewards {REWARD.replace(" ", "")} --max_completion_length 8 --cold_start_steps 2 --cold_start_batch_size 2
    --eval_prompts 2 --num_generations 4 --num_generations_eval 2 --per_device_train_batch_size 4
    --gradient_accumulation_steps 2 --per_device_eval_batch_size 4 --learning_rate 0.01 --max_steps 5 --eval_steps 2
    --save_steps 2 --save_total_limit 2
""".split()
LORA: list[str] = []
REFERENCE = '--algorithm grpo --algorithm_settings {"beta":0.1} --bf16 true --save_total_limit 1'.split()  # noqa: SIM905
WHOLE = """
    --algorithm dapo --algorithm_settings {} --lora_r 0 --num_iterations 2 --logging_steps 2 --save_steps 1
    --eval_steps 3 --learning_rate 0.001
""".split()  # noqa: SIM905
TIMES = ("seconds", "runtime", "per_second", "step_time", "peak_memory")

KILLED: list[tuple[list[str], list[tuple[str, int]]]] = [
    (LORA, [("torch file", 1)]),
    (LORA, [("renamed", 1), ("taken up", 1), ("evaluation", 1)]),
    (LORA, [("seal", 1)]),
    (LORA, [("seal", 2), ("taking up", 1)]),
    (LORA, [("optimizer", 6), ("taken up", 1)]),
    (WHOLE, [("optimizer", 4), ("scoring", 1)]),
    (REFERENCE, [("renamed", 1)]),
    (REFERENCE, [("optimizer", 6)]),
    (LORA, [("weights", 4), ("weights saved", 1)]),
    (LORA, [("renamed", 2)]),
    (LORA, [("summary", 1), ("summary", 1)]),
    (WHOLE, [("optimizer", 3)]),
    (LORA, [("metrics", 6)]),
    (LORA, [("rotation", 3)]),
    (REFERENCE, [("rotation", 2)]),
    (WHOLE, [("rollouts", 3)]),
    (LORA, [("evaluation", 3)]),
    (LORA, [("trainer", 1)]),
    (LORA, [("ended", 1)]),
    (LORA, [("rollouts", 4), ("rollouts", 2)]),
    (LORA, [("scoring", 7)]),
    (LORA, [("start-up", 1)]),
    (LORA, [("started", 1)]),
    (LORA, [("cold start or update", 2)]),
    (LORA, [("rename", 1)]),
    (LORA, [("metrics", 1)]),
    (LORA, [("sampling", 3)]),
    (LORA, [("torch file", 2)]),
    (LORA, [("weights", 1)]),
    (REFERENCE, [("torch file", 5)]),
    (WHOLE, [("optimizer", 6)]),
]


def pairs(value: list[Any]) -> list[tuple[str, int]]:
    return [one for one in value if isinstance(one, tuple)]


class Runner:
    """The process that the runs are forks of."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._process = subprocess.Popen(
            [sys.executable, str(HERE / "killable.py")],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT,
        )  # fmt: skip

    def run(self, argv: list[str], *, moment: str = "", count: int = 1, within_s: float | None = None) -> int:
        """The exit code, or minus the signal. `within_s`: the run is killed then, unless it has ended."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        job = {"argv": argv, "log": str(self.folder / "log"), "moment": moment, "count": count}
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        pid = int(self._process.stdout.readline())
        if within_s is not None:
            time.sleep(within_s)
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return int(self._process.stdout.readline())

    def close(self) -> None:
        self._process.kill()
        self._process.wait()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tiny model and seven problems, so that a pass of three steps leaves one of them out."""
    folder = tmp_path_factory.mktemp("killed")
    tiny_llama().save_pretrained(folder / "tiny")
    tokenizer = byte_tokenizer()
    tokenizer.chat_template = "{% for message in messages %}{{ message.content }}\n{% endfor %}"
    tokenizer.save_pretrained(folder / "tiny")
    rows = [
        {
            "problem": f"What is {n} + {n}?",
            "answer": 2 * n,
            "solution": f"{2 * n}",
            "split": "train" if n < 7 else "test",
        }
        for n in range(9)
    ]
    (folder / "problems.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


@pytest.fixture(scope="module")
def runner(place: Path) -> Iterator[Runner]:
    runner = Runner(place)
    yield runner
    runner.close()


@pytest.fixture(scope="module")
def straight(place: Path, runner: Runner) -> dict[str, Path]:
    """Runs that nothing interrupts, by their flags."""
    runs = {}
    for name, flags in (("lora", LORA), ("reference", REFERENCE), ("whole", WHOLE)):
        runs[" ".join(flags)] = place / f"straight-{name}"
        assert runner.run(argv(place, place / f"straight-{name}", flags)) == 0, (place / "log").read_text()
    return runs


def argv(place: Path, out: Path, flags: list[str]) -> list[str]:
    where = ["--model", str(place / "tiny"), "--prompts", str(place / "problems.jsonl"), "--output_dir", str(out)]
    return ["train", *FLAGS, *where, *flags]


@pytest.mark.parametrize(("flags", "kills"), KILLED, ids=lambda v: ", ".join(f"{m} {n}" for m, n in pairs(v)))
def test_killed_at_a_moment(
    flags: list[str],
    kills: list[tuple[str, int]],
    place: Path,
    runner: Runner,
    straight: dict[str, Path],
    tmp_path: Path,
) -> None:
    """Each kill comes in the run that the one before has ended."""
    command = [*argv(place, tmp_path / "run", flags), "--resume", "auto"]
    for moment, count in kills:
        assert runner.run(command, moment=moment, count=count) == -signal.SIGKILL, (place / "log").read_text()
    assert runner.run(command) == 0, (place / "log").read_text()
    assert_same(tmp_path / "run", straight[" ".join(flags)])


@pytest.mark.parametrize("seed", range(4))
def test_killed_at_random_until_it_is_done(
    seed: int, place: Path, runner: Runner, straight: dict[str, Path], tmp_path: Path
) -> None:
    flags = (LORA, REFERENCE, WHOLE)[seed % 3]
    command = [*argv(place, tmp_path / "run", flags), "--resume", "auto"]
    began = time.monotonic()
    assert runner.run(argv(place, tmp_path / "timed", flags)) == 0
    takes = time.monotonic() - began
    rng = random.Random(seed)
    for _ in range(8):
        if runner.run(command, within_s=rng.uniform(0, takes)) == 0:
            break
    else:
        assert runner.run(command) == 0, (place / "log").read_text()
    assert_same(tmp_path / "run", straight[" ".join(flags)])


def assert_same(run: Path, other: Path) -> None:
    """All that two runs left is the same, but for times and places; and it is all there."""
    mine, theirs = (files(path) for path in (run, other))
    assert mine == theirs
    rows = without_times(RunDir(run).read_metrics())
    assert rows == without_times(RunDir(other).read_metrics())
    for name in mine:
        a, b = run / name, other / name
        if name.endswith(".parquet"):
            assert pq.read_table(a).equals(pq.read_table(b)), name
        elif name.endswith(".safetensors"):
            assert equal(load_file(a), load_file(b)), name
        elif name.endswith((".pt", ".pth")):
            assert equal(*(torch.load(p, weights_only=False) for p in (a, b))), name
        elif name.endswith(("trainer_state.json", "summary.json")):
            one, two = (json.loads(p.read_text()) for p in (a, b))
            assert without_times([one, *one.pop("log_history", [])]) == without_times(
                [two, *two.pop("log_history", [])]
            ), name


def files(path: Path) -> list[str]:
    return sorted(str(p.relative_to(path)) for p in path.rglob("*") if p.is_file())


def without_times(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{k: v for k, v in row.items() if not any(t in k for t in TIMES)} for row in rows]


def equal(a: Any, b: Any) -> bool:
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(equal(a[k], b[k]) for k in a if not (isinstance(k, str) and "time" in k))
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(equal, a, b))
    if isinstance(a, torch.Tensor):
        return a.dtype == b.dtype and torch.equal(a, b)
    return bool((a == b).all()) if hasattr(a, "all") else bool(a == b)


def test_the_command_itself_in_a_loop(place: Path, straight: dict[str, Path], tmp_path: Path) -> None:
    """The loop of `--resume auto` that README.md gives, killed while it starts, and again while it trains."""
    command = [sys.executable, "-m", "bot_grpo", *argv(place, tmp_path / "run", LORA), "--resume", "auto"]
    run = RunDir(tmp_path / "run")
    for begun in (lambda: True, lambda: len(run.read_metrics()) > 3):
        process = subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not begun() and process.poll() is None:
            time.sleep(0.05)
        if run.metrics_path.exists():
            second = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=300)
            if process.poll() is None:  # else the machine is so slow that the first one was done in the meantime
                assert second.returncode == 2
                assert second.stderr.count("\n") == 1
                assert "another process is at work" in second.stderr
        process.kill()
        process.wait()
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    assert_same(tmp_path / "run", straight[""])


@pytest.mark.browser
def test_a_killed_run_leaves_no_browser_behind(tmp_path: Path) -> None:
    flags = """--config react-smollm2-cpu --model_dtype float32 --bf16 false --lora_r 2 --cold_start_steps 0
        --num_generations 2 --per_device_train_batch_size 2 --gradient_accumulation_steps 1 --max_completion_length 24
        --max_steps 500 --eval_strategy no --eval_on_start false""".split()  # noqa: SIM905
    where = ["--model", str(save_tiny_model(tmp_path / "tiny")), "--output_dir", str(tmp_path / "run")]
    command = [sys.executable, "-m", "bot_grpo", "train", *flags, *where]
    process = subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not RunDir(tmp_path / "run").read_metrics()[1:] and process.poll() is None:
        time.sleep(0.1)
    end = time.monotonic() + 120
    while len(below := descendants(process.pid)) <= 3 and time.monotonic() < end:
        time.sleep(0.2)  # it may still be starting
    assert len(below) > 3  # Node, a render process and Chromium's own
    process.kill()
    process.wait()
    end = time.monotonic() + 60
    while (left := [pid for pid in below if alive(pid)]) and time.monotonic() < end:
        time.sleep(0.2)
    assert not left


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
