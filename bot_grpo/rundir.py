"""A run's folder: settings, one line of metrics a step, rollouts, screenshots, checkpoints. Local files first, always.

runs/NAME/config.yaml  metrics.jsonl  rollouts/*.parquet  tokens/*.parquet  screenshots/*.png  checkpoints/
          summary.json  report.html
"""

from __future__ import annotations

import fcntl
import json
import os
import platform
import shutil
import subprocess
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from bot_grpo import __version__
from bot_grpo.errors import UserError
from reward_models.file_modes import set_ordinary_modes

ROLLOUTS = pa.schema(
    [
        ("step", pa.int64()),
        ("kind", pa.string()),
        ("group", pa.int64()),
        ("prompt", pa.string()),
        ("completion", pa.string()),
        ("token_ids", pa.list_(pa.int64())),
        ("spans", pa.list_(pa.list_(pa.int64()))),
        ("token_rewards", pa.list_(pa.float32())),
        ("local", pa.list_(pa.float32())),
        ("advantages", pa.list_(pa.float32())),
        ("outcome", pa.float64()),
        ("scored", pa.bool_()),
        ("reason", pa.string()),
        ("truncated", pa.bool_()),
        ("status", pa.string()),
        ("code", pa.string()),
        ("code_start", pa.int64()),
        (
            "diagnostics",
            pa.list_(
                pa.struct(
                    [
                        ("source", pa.string()),
                        ("severity", pa.string()),
                        ("line", pa.int64()),
                        ("column", pa.int64()),
                        ("message", pa.string()),
                    ]
                )
            ),
        ),
        (
            "requirements",
            pa.list_(pa.struct([("check", pa.string()), ("met", pa.bool_()), ("reason", pa.string())])),
        ),
        ("screenshot", pa.string()),
        ("answer", pa.string()),
        ("place", pa.int64()),
    ]
)


TRAINING = "training.yaml"
"""What an export calls the settings that its model was trained with."""


SEAL = "trainer_state.json"
"""The file of a checkpoint that is written last, and all at once: where it is, the checkpoint is whole."""
_SECONDS = ".seconds"
"""The file that keeps the wall time of a run's sessions; a file of its own, since resuming cuts the metrics back."""
_BEFORE_CONFIG = {".lock", _SECONDS, ".config.yaml.tmp", "rollouts", "screenshots", "checkpoints"}


class RunDir:
    """Writes (and, for resuming, cuts back) the files of one run."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.metrics_path = self.path / "metrics.jsonl"
        self.rollouts = self.path / "rollouts"
        self.tokens = self.path / "tokens"
        self.screenshots = self.path / "screenshots"
        self.checkpoints = self.path / "checkpoints"
        self._began: float | None = None
        self._before = 0.0

    def create(self, *, resume: bool) -> None:
        """Make the folders, and hold the run for this process alone. A folder that holds a run is never written over.

        Raises:
            UserError: it holds a run and `resume` is false, or what is no run; another process is at work on it; or it
                cannot be written.
        """
        if self.path.exists() and not self.path.is_dir():
            raise UserError(f"{self.path} is a file; choose another --output_dir")
        there = {entry.name for entry in self.path.iterdir()} if self.path.is_dir() else set()
        if there and not resume:
            raise UserError(
                f"{self.path} already holds a run; choose another --output_dir, or go on with --resume auto"
            )
        strange = sorted(there - _BEFORE_CONFIG)
        if strange and not there & {"config.yaml", "metrics.jsonl"}:
            raise UserError(f"{self.path} holds {strange[0]} and is no run; choose another --output_dir")
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self._lock = hold(self.path)
            for folder in (self.rollouts, self.screenshots, self.checkpoints):
                folder.mkdir(exist_ok=True)
        except OSError as error:
            raise UserError(f"{self.path} cannot be written: {error.strerror or error}") from error
        with suppress(OSError, ValueError):
            self._before = float((self.path / _SECONDS).read_text(encoding="utf-8"))
        self._began = time.monotonic()

    def seconds(self) -> float:
        """Wall time that all sessions of the run have taken, this one included, in seconds.

        A session that was killed counts up to its last line of metrics: what came after it is not known.
        """
        return self._before + (0.0 if self._began is None else time.monotonic() - self._began)

    def _keep_seconds(self) -> None:
        if self._began is not None:  # else this process only reads, or writes for the one that holds the run
            _replace(self.path / _SECONDS, f"{self.seconds():.1f}\n")

    def write_config(self, settings: Mapping[str, Any]) -> None:
        """config.yaml: the resolved settings, versions and commit."""
        text = yaml.safe_dump({**settings, "versions": versions(), "commit": commit()}, sort_keys=False)
        _replace(self.path / "config.yaml", text)

    def log(self, row: Mapping[str, Any]) -> None:
        """Append one line of metrics; a whole line in one write, so that a kill can only cut the last one."""
        with self.metrics_path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        self._keep_seconds()

    def read_config(self) -> dict[str, Any]:
        """config.yaml; empty where there is none that can be read."""
        with suppress(OSError, ValueError, yaml.YAMLError):
            found = yaml.safe_load((self.path / "config.yaml").read_text(encoding="utf-8"))
            return found if isinstance(found, dict) else {}
        return {}

    def read_metrics(self) -> list[dict[str, Any]]:
        """All whole lines of metrics.jsonl."""
        rows = []
        if self.metrics_path.exists():
            for line in self.metrics_path.read_text(encoding="utf-8").splitlines():
                try:
                    rows.append(json.loads(line))
                except json.JSONDecodeError:
                    continue
        return rows

    def cut_back(self, step: int) -> None:
        """Forget what a stopped run wrote after the checkpoint of `step`, so that resuming writes it anew.

        Also what it did not finish writing, and how it ended. 0 forgets all but what is kept of the cold start and of
        judges' answers.
        """
        for folder in self.checkpoints.glob("checkpoint-*"):  # first: what is kept must not be ahead of the metrics
            if not (folder / SEAL).exists() or step_of(folder) > step:
                (folder / SEAL).unlink(missing_ok=True)
                shutil.rmtree(folder)
        (self.path / "summary.json").unlink(missing_ok=True)
        if not step and (self.path / "model").is_dir():
            shutil.rmtree(self.path / "model")
        rows = [r for r in self.read_metrics() if 0 < step >= r.get("step", 0)]
        _replace(self.metrics_path, "".join(json.dumps(r) + "\n" for r in rows))
        for file in (*self.rollouts.glob("*.parquet"), *self.tokens.glob("*.parquet")):
            if step_of(file) > step or not step:
                file.unlink()
        folders = (self.path, self.rollouts, self.tokens, self.checkpoints)
        for scratch in (file for folder in folders for file in folder.glob(".*.tmp")):
            if scratch.is_dir():
                shutil.rmtree(scratch)
            else:
                scratch.unlink()

    def write_rollouts(self, name: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """rollouts/NAME.parquet, whole or not at all."""
        _write_table(self.rollouts / f"{name}.parquet", pa.Table.from_pylist([dict(r) for r in rows], schema=ROLLOUTS))

    def write_tokens(self, name: str, table: pa.Table) -> None:
        """tokens/NAME.parquet (see `token_stats`), whole or not at all; it takes the place of an earlier one."""
        self.tokens.mkdir(exist_ok=True)
        _write_table(self.tokens / f"{name}.parquet", table)

    def write_summary(self, summary: Mapping[str, Any]) -> None:
        """summary.json: how the run ended."""
        self._keep_seconds()
        _replace(self.path / "summary.json", json.dumps(summary, indent=2) + "\n")

    def read_summary(self) -> dict[str, Any]:
        """summary.json; empty where the run has not ended."""
        with suppress(OSError, ValueError):
            return dict(json.loads((self.path / "summary.json").read_text(encoding="utf-8")))
        return {}

    def last_checkpoint(self) -> Path | None:
        """The newest whole checkpoint."""
        return last_checkpoint(self.checkpoints)


def last_checkpoint(folder: Path) -> Path | None:
    """The newest whole checkpoint among a Trainer's; None where there is none."""
    return next((checkpoint for checkpoint in _checkpoints(folder) if is_whole(checkpoint)), None)


def damaged_checkpoints(folder: Path) -> list[Path]:
    """The checkpoints, newest first, that were whole once and whose seal cannot be read any more."""
    return [checkpoint for checkpoint in _checkpoints(folder) if not is_whole(checkpoint)]


def is_whole(checkpoint: Path) -> bool:
    """Whether a checkpoint has its seal, and it can be read."""
    try:
        return isinstance(json.loads((checkpoint / SEAL).read_text(encoding="utf-8")), dict)
    except (OSError, ValueError):
        return False


def _checkpoints(folder: Path) -> list[Path]:
    found = [seal.parent for seal in folder.glob(f"checkpoint-*/{SEAL}") if step_of(seal.parent) >= 0]
    return sorted(found, key=step_of, reverse=True)


@contextmanager
def whole_folder(target: Path, *, makes: bool = True) -> Iterator[Path]:
    """A folder to fill, which takes the place of `target` at the end; who dies before has changed nothing.

    Of several processes that fill it one `makes` it, and comes to the end when the others have.
    """
    scratch, old = (target.with_name(f".{target.name}.{name}.tmp") for name in ("new", "old"))
    if not makes:
        yield scratch
        return
    for folder in (scratch, old):
        shutil.rmtree(folder, ignore_errors=True)
    scratch.mkdir(parents=True)
    try:
        yield scratch
    except BaseException:
        shutil.rmtree(scratch, ignore_errors=True)
        raise
    set_ordinary_modes(scratch)
    if target.exists():
        target.rename(old)
    scratch.rename(target)
    shutil.rmtree(old, ignore_errors=True)


@contextmanager
def folder_once(target: Path, *, proof: str) -> Iterator[Path]:
    """A folder to fill, which becomes `target` at the end, unless another process was first; then that one stays.

    For what is the same whoever makes it. `proof` is a file that every whole one has. Who dies before the end has
    changed nothing, and what it leaves behind is gone a day later. Raises OSError.
    """
    for left in target.parent.glob(f".{target.name}.*.tmp"):
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > 86_400:
                shutil.rmtree(left, ignore_errors=True)
    scratch = target.with_name(f".{target.name}.{uuid.uuid4().hex}.tmp")
    scratch.mkdir(parents=True)
    try:
        yield scratch
        set_ordinary_modes(scratch)
        try:
            scratch.rename(target)
        except OSError:
            if not (target / proof).exists():
                raise
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def config_of(model: Path) -> tuple[Path, dict[str, Any]] | None:
    """The settings of the run that a model's folder is of, and the file that has them; None where there is no such run.

    `model` is the run itself, its model, one of its checkpoints, or an export.
    """
    for place in (model, *model.absolute().parents[:2]) if model.is_dir() else ():
        for file in (place / "config.yaml", place / TRAINING):
            try:
                found = yaml.safe_load(file.read_text(encoding="utf-8"))
            except (OSError, ValueError, yaml.YAMLError):
                continue
            if isinstance(found, dict) and "algorithm" in found and "task" in found:
                return file, found
    return None


def hold(folder: Path) -> IO[str]:
    """Lock a folder for as long as the file that is returned is open, at most until this process ends, however it ends.

    A child that outlives the process does not hold the lock. Raises UserError where another process has it.
    """
    lock = (folder / ".lock").open("a")
    try:
        fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise UserError(f"another process is at work on {folder}; wait for it, or end it first") from error
    return lock


def is_held(folder: Path) -> bool | None:
    """Whether a process of this machine is at work on the run; None where that cannot be told (there is no lock)."""
    try:
        with (folder / ".lock").open("r+") as lock:
            fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # and given back when the file is closed
    except BlockingIOError:
        return True
    except OSError:
        return None
    return False


def step_of(path: Path) -> int:
    """The step in the name of a checkpoint or of a file of rollouts; -1 for none."""
    number = path.stem.rsplit("-", 1)[-1]
    return int(number) if number.isdigit() else -1


def _write_table(path: Path, table: pa.Table) -> None:
    scratch = path.with_name(f".{path.stem}.tmp")
    pq.write_table(table, scratch, compression="zstd")
    os.replace(scratch, path)


def _replace(path: Path, text: str) -> None:
    scratch = path.with_name(f".{path.name}.tmp")
    scratch.write_text(text, encoding="utf-8")
    os.replace(scratch, path)


def versions() -> dict[str, str]:
    """Versions of what a result depends on."""
    found = {"bot-grpo": __version__, "python": platform.python_version()}
    for name in ("torch", "transformers", "trl", "peft", "accelerate", "datasets", "playwright"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def commit() -> str | None:
    """The git commit of this checkout, with `+` when files differ from it; None outside of a checkout."""
    root = Path(__file__).resolve().parent.parent
    if not (root / ".git").exists():
        return None
    try:
        head = subprocess.run(["git", "-C", root, "rev-parse", "HEAD"], capture_output=True, text=True, timeout=10)
        state = subprocess.run(
            ["git", "-C", root, "status", "--porcelain", "-uno"], capture_output=True, text=True, timeout=10
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return head.stdout.strip() + ("+" if state.stdout.strip() else "") or None
