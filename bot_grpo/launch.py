"""`bot-grpo train --nproc N`: the same command in N processes, by `accelerate launch`.

    python -m bot_grpo.launch [--nproc N] [--accelerate NAME_OR_FILE] [--cpu] COMMAND ...

runs `bot-grpo COMMAND ...` that way and ends as its processes end. `launch` starts this as a child in a session of its
own, and stands between it and the terminal: `accelerate launch` would take Ctrl-C for itself, and give the processes
half a minute to end whatever they do; here it goes to them, and they end when their step has.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import logging
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import yaml

from bot_grpo.errors import UserError
from sandbox.words import plural

CONFIGS = Path(__file__).with_name("accelerate_configs")
_GRACE_S = 20.0
LAUNCHED = "BOT_GRPO_LAUNCHED"
"""The variable that tells the processes what they were started with: the words for the same command once more."""


def config_names() -> list[str]:
    """The names that `--accelerate` takes besides files."""
    return sorted(p.stem for p in CONFIGS.glob("*.yaml"))


def config_file(name: str) -> Path:
    """A shipped accelerate config by name, or a file. Raises UserError."""
    if name in config_names():
        return CONFIGS / f"{name}.yaml"
    if Path(name).is_file():
        return Path(name)
    raise UserError(f"no accelerate config {name!r}: it is a file, or one of {', '.join(config_names())}")


# -- the parent: between the terminal and the processes ----------------------------------------------------------------


def launch(command: Sequence[str], *, processes: int | None, config: str | None, cpu: bool = False) -> int:
    """Run `bot-grpo COMMAND ...` in `processes` processes (None: as many as there are GPUs, or as `config` says) and
    return their exit code.

    The first Ctrl-C goes to the processes, which save a checkpoint after their step and stop. The second, or one that
    comes before there are any, ends them at once, and this with KeyboardInterrupt.
    """
    words = [] if processes is None else ["--nproc", str(processes)]
    words += [] if config is None else ["--accelerate", config]
    environment = {**os.environ, LAUNCHED: shlex.join(words)}
    words += ["--cpu"] if cpu else []
    child = subprocess.Popen(
        [sys.executable, "-m", "bot_grpo.launch", *words, *command],
        start_new_session=True,
        preexec_fn=_ends_with_us,
        env=environment,
    )
    asked: list[int] = []

    def pass_on(number: int, frame: Any) -> None:
        asked.append(number)
        first = number == signal.SIGINT and asked.count(number) == 1
        if not (first and _signal_processes(child.pid, signal.SIGINT)):
            child.send_signal(signal.SIGTERM)

    before = {number: signal.signal(number, pass_on) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        code = _wait(child, asked)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if signal.SIGINT in asked and not 0 <= code < 128:  # ended by a signal
        raise KeyboardInterrupt
    return 128 - code if code < 0 else code


def _wait(child: subprocess.Popen[bytes], asked: list[int]) -> int:
    """The child's exit code. One that was told to end at once and doesn't is killed, with all that it started."""
    left = _GRACE_S
    while True:
        with suppress(subprocess.TimeoutExpired):
            return child.wait(0.2)
        left -= 0.2 if len(asked) > 1 or signal.SIGTERM in asked else 0
        if left < 0:
            _signal_processes(child.pid, signal.SIGKILL)
            child.kill()


def _signal_processes(pid: int, number: int) -> int:
    """Send a signal to the processes that train: the children of the one that runs `accelerate launch`. How many."""
    import psutil

    sent = 0
    with suppress(psutil.NoSuchProcess):
        for process in psutil.Process(pid).children():
            with suppress(psutil.NoSuchProcess):
                process.send_signal(number)
                sent += 1
    return sent


def _ends_with_us() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG: a parent that is gone leaves no training behind


# -- the child: accelerate launch, in our words and with the exit code of its processes --------------------------------


@dataclass(frozen=True)
class Plan:
    """What `accelerate launch` is told: a config, processes over all machines, and whether they are to be on CPUs."""

    config: Path
    processes: int
    machines: int
    cpu: bool

    def words(self) -> list[str]:
        """The options of `accelerate launch`."""
        here = max(1, self.processes // self.machines)
        port = ["--main_process_port", "0"] if self.machines == 1 else []  # 0: one that is free
        threads = ["--num_cpu_threads_per_process", str(max(1, (os.cpu_count() or 1) // here))]
        return ["--config_file", str(self.config), "--num_processes", str(self.processes), *port, *threads]


def plan(processes: int | None, config: str | None, *, cpu: bool) -> Plan:
    """Look at the config and at this machine. Raises UserError: they don't go together."""
    import torch
    from accelerate.commands.config.config_args import load_config_from_file

    file = config_file(config or "ddp")
    try:
        read = json.loads if file.suffix == ".json" else yaml.safe_load  # as accelerate does
        if not isinstance(read(file.read_text(encoding="utf-8")), dict):
            raise UserError(f"{file} is no config of accelerate: it is no mapping of settings to values")
        found: Any = load_config_from_file(str(file))
    except UserError:
        raise
    except Exception as error:  # yaml's, dataclasses' and accelerate's own
        raise UserError(f"{file} is no config of accelerate: {' '.join(str(error).split())[:200]}") from error
    kind = str(getattr(found.distributed_type, "value", found.distributed_type))
    gpus = 0 if cpu or not torch.accelerator.is_available() else torch.accelerator.device_count()
    if kind == "DEEPSPEED" and find_spec("deepspeed") is None:
        raise UserError(f"{file.stem} needs DeepSpeed, which is not installed: pip install deepspeed, or take fsdp2")
    if gpus == 0 and kind in {"FSDP", "DEEPSPEED"}:
        raise UserError(f"{file.stem} shares a model out over GPUs, and there are none; on a CPU there is ddp")
    machines = int(found.num_machines or 1)
    if processes is None:
        own = config is not None and config not in config_names() and found.num_processes > 0
        processes = found.num_processes if own else gpus
    if processes < 1:
        raise UserError("there is no GPU to count: say with --nproc how many processes to train in")
    if processes > 1 and kind in {"NO", "MULTI_CPU"}:
        raise UserError(f"{file} starts one process (distributed_type: {kind}); for more take ddp")
    if gpus and processes > gpus * machines:
        there = f"there {plural(gpus, 'is', 'are')} {gpus}" + (f" on each of {machines} machines" * (machines > 1))
        raise UserError(f"--nproc {processes} wants a GPU for each process, and {there}; --use_cpu true trains on CPUs")
    return Plan(file, processes, machines, gpus == 0)


def run(plan: Plan, command: Sequence[str]) -> int:
    """Run `bot-grpo COMMAND ...` in the plan's processes; the exit code of the first that failed, or 0."""
    from accelerate.commands.launch import launch_command, launch_command_parser
    from torch.distributed.elastic.multiprocessing.api import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError

    for name in ("torch.distributed.elastic", "torch.distributed.run", "accelerate"):
        logging.getLogger(name).setLevel(logging.CRITICAL)  # the processes have said what was wrong
    if plan.cpu:
        os.environ["ACCELERATE_USE_CPU"] = "true"
    words = [*plan.words(), "-m", "bot_grpo", *command]
    try:
        launch_command(launch_command_parser().parse_args(words))
    except ChildFailedError as error:
        rank, failure = error.get_first_failure()
        if failure.exitcode < 0:
            print(f"process {rank} was ended by {failure.signal_name()}", file=sys.stderr)
        return 128 - failure.exitcode if failure.exitcode < 0 else failure.exitcode
    except subprocess.CalledProcessError as error:  # how accelerate starts a single process
        return error.returncode
    except SignalException as error:
        return 128 + int(error.sigval)
    return 0


def main(argv: Sequence[str]) -> int:
    """The child's main. 2: a UserError, in one line."""
    parser = argparse.ArgumentParser(prog="python -m bot_grpo.launch", allow_abbrev=False)
    parser.add_argument("--nproc", type=int)
    parser.add_argument("--accelerate")
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args(argv)
    try:
        return run(plan(options.nproc, options.accelerate, cpu=options.cpu), options.command)
    except UserError as error:
        print(f"bot-grpo train: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
