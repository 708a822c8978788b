"""The cells of a study: STUDY/ARM-seedN is the run of one arm (an algorithm, or a variation of one) with one seed.

Read from disk, and held to be comparable: the same settings but for what the arms are about, the same prompts in the
same order.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from bot_grpo.errors import UserError
from bot_grpo.report_charts import GROUPS
from bot_grpo.rundir import RunDir

Config = Mapping[str, Any]
Curve = Sequence[tuple[int, float]]
"""(step, value) of a metric at each evaluation, steps rising."""

_NAME = re.compile(r"(?P<arm>.+)-seed(?P<seed>\d+|N)")
_OWN = {
    *("algorithm", "algorithm_settings", "seed", "output_dir", "cold_starts"),
    *("started", "versions", "commit", "completions_a_step"),
}
_MACHINES = {"model_dtype", "bf16"}
"""What `model_dtype: fast` takes from the machine: a study may go on, or be repeated, on another one."""
TRL_DEFAULTS = {
    "per_device_train_batch_size": 8,
    "gradient_accumulation_steps": 1,
    "num_iterations": 1,
    "num_generations": 8,
}
"""TRL's defaults of what decides how many rollouts a step takes: config.yaml leaves defaults out."""


@dataclass(frozen=True)
class Work:
    """What had been spent when a training step ended, evaluations aside; `seconds` is None where it was not kept."""

    step: int
    rollouts: int
    tokens: int
    seconds: float


@dataclass(frozen=True)
class Cell:
    """A run as a comparison reads it."""

    arm: str
    seed: int
    path: Path
    config: Config
    evals: Sequence[tuple[int, Mapping[str, float]]]
    work: Sequence[Work]
    scoring: float
    """Share of the training time that went into scoring."""
    groups: Mapping[str, float]
    """Mean over the training steps of each share of groups (`algo/*_groups`); runs of earlier versions have fewer."""
    steps: int
    of: int | None
    finished: bool
    seconds: float
    """Of the whole cell: steps and evaluations, and what else its last session took."""

    @property
    def name(self) -> str:
        return f"{self.arm}-seed{self.seed}"

    def curve(self, metric: str) -> Curve:
        """The metric at each evaluation that has it."""
        return [(step, row[metric]) for step, row in self.evals if metric in row]

    def spent(self, step: int) -> Work:
        """What had been spent by the end of `step`."""
        return next((w for w in reversed(self.work) if w.step <= step), Work(0, 0, 0, 0.0))


def cell_folders(study: Path) -> list[Path]:
    """The folders of a study that are named like cells, by arm and seed."""
    named = [(m, path) for path in study.iterdir() if path.is_dir() and (m := _NAME.fullmatch(path.name))]
    found = [(m["arm"], int(m["seed"]), path) for m, path in named if m["seed"] != "N"]
    return [path for _, _, path in sorted(found)]


def read_cell(path: Path) -> Cell | None:
    """The cell of a folder; None where nothing was measured yet. Raises `UserError` for a config that is none."""
    named = _NAME.fullmatch(path.name)
    rows = [row for row in RunDir(path).read_metrics() if isinstance(row, dict) and isinstance(row.get("step"), int)]
    if named is None or not rows:
        return None
    config, summary = read_config(path), _summary(path)
    evals = {row["step"]: row for row in rows if any(key.startswith("eval/") for key in row)}
    steps = {row["step"]: row for row in rows if "loss" in row and row["step"] > 0}
    last = max([0, *steps])
    of = summary.get("of") or (config["max_steps"] if (config.get("max_steps") or -1) > 0 else None)
    counted = [(steps[now], now - before) for before, now in pairwise([0, *sorted(steps)])]  # a row, and its steps
    work = _work(counted, config, _world(path))
    trained = work[-1].seconds if work else 0.0
    scored = sum(count * (row.get("seconds/score") or 0.0) for row, count in counted)
    return Cell(
        arm=named["arm"],
        seed=int(named["seed"]),
        path=path,
        config=config,
        evals=[(s, {k: v for k, v in evals[s].items() if isinstance(v, int | float)}) for s in sorted(evals)],
        work=work,
        scoring=scored / trained if trained else 0.0,
        groups=_groups(list(steps.values())),
        steps=last,
        of=of,
        finished=bool(summary["finished"]) if "finished" in summary else of is not None and last >= of,
        seconds=max(
            float(summary.get("seconds") or 0.0),
            trained + sum(row.get("eval/runtime") or 0.0 for row in evals.values()),
        ),
    )


def read_config(path: Path) -> Config:
    """config.yaml of a run. Raises `UserError`."""
    file = path / "config.yaml"
    try:
        config = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError, UnicodeDecodeError) as error:
        raise UserError(f"{file} cannot be read: {' '.join(str(error).split())}") from error
    if not isinstance(config, dict):
        raise UserError(f"{file} is not a mapping of settings")
    return config


def _summary(path: Path) -> Mapping[str, Any]:
    try:
        found = json.loads((path / "summary.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _work(steps: Sequence[tuple[Mapping[str, Any], int]], config: Config, world: int) -> list[Work]:
    """What had been spent at each logged row, which is the mean of so many steps."""
    size = {name: int(config.get(name) or default) for name, default in TRL_DEFAULTS.items()}
    a_step = world * size["per_device_train_batch_size"] * size["gradient_accumulation_steps"] / size["num_iterations"]
    out, rollouts, tokens, seconds = [], 0.0, 0.0, 0.0
    for row, count in steps:
        taken = count * (a_step + size["num_generations"] * row.get("dynamic_sampling/groups", 0.0))
        rollouts += taken
        tokens += taken * (row.get("completion_length") or 0.0)
        seconds += count * (row.get("seconds/step") or 0.0)
        out.append(Work(row["step"], round(rollouts), round(tokens), seconds))
    return out


def _groups(steps: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    shares = {name: [x for row in steps if (x := row.get(f"algo/{name}")) is not None] for name in GROUPS}
    return {name: sum(values) / len(values) for name, values in shares.items() if values}


def _world(path: Path) -> int:
    """Processes of a run: each writes rollouts of its own."""
    ranks = [int(m[1]) for p in path.glob("rollouts/step-rank*") if (m := re.match(r"step-rank(\d+)-", p.name))]
    return 1 + max(ranks, default=0)


# -- are they comparable? ---------------------------------------------------------------------------------------------


def differences(configs: Mapping[str, Config]) -> list[str]:
    """A line for each setting that differs between cells (by name), but for what their arms are about; [] for none.

    An arm is about its algorithm and, after each `+`, a setting that its name gives. Within an arm all but the seed is
    to be the same. `ARM-seedN` is no cell: it stands for what an arm is to be.
    """
    lines = []
    left_out = _OWN | _MACHINES
    flat = {name: _flat({k: v for k, v in config.items() if k not in left_out}) for name, config in configs.items()}
    arms = {arm: [name for name in configs if _arm(name) == arm] for arm in sorted({_arm(name) for name in configs})}
    for key in sorted({key for settings in flat.values() for key in settings}):
        values = {name: flat[name].get(key, _default(key, flat.values())) for name in configs}
        free = {arm for arm in arms if {key, key.split(".")[0]} & _about(arm)}
        lines += _differing(key, {name: value for name, value in values.items() if _arm(name) not in free})
        for arm in free:
            lines += _differing(key, {name: values[name] for name in arms[arm]})
    for arm, names in arms.items():
        lines += _differing("algorithm_settings", {n: configs[n].get("algorithm_settings") or None for n in names})
        for name in names:
            algorithm, seed = (configs[name].get(key) for key in ("algorithm", "seed"))
            if algorithm not in (None, arm.split("+")[0]):
                lines.append(f"{name} was trained by {algorithm}")
            if seed is not None and name != f"{arm}-seed{seed}":
                lines.append(f"{name} was trained with seed {seed}")
    return lines


def origins(cells: Iterable[Cell]) -> list[str]:
    """A line for whatever differs in where the cells come from: named, not refused.

    These are the packages' versions, the code's commit and the dtype that they computed in.
    """
    versions: dict[str, set[str]] = defaultdict(set)
    for cell in cells:
        for name, version in (cell.config.get("versions") or {}).items():
            versions[name].add(str(version))
        versions["commit"].add(str(cell.config.get("commit"))[:8])
        versions["dtype"].add(str(cell.config.get("model_dtype")))
    what = {"commit": "commits", "dtype": "dtypes"}
    return [
        f"the cells were made with different {what.get(name, f'versions of {name}')}: " + ", ".join(sorted(found))
        for name, found in versions.items()
        if len(found) > 1
    ]


def other_prompts(cells: Sequence[Cell]) -> list[str]:
    """A line for each cell that saw other prompts than the first of its seed, or in another order.

    Read from the rollouts, where a cell has kept them; cells that refill groups are left out, for they mean to differ.
    """
    lines = []
    by_seed: dict[int, list[Cell]] = defaultdict(list)
    for cell in cells:
        if not cell.config.get("dynamic_sampling"):
            by_seed[cell.seed].append(cell)
    for first, *others in by_seed.values():
        known = _prompts(first.path)
        for cell in others:
            mine = _prompts(cell.path)
            wrong = [name for name in sorted(known) if name in mine and mine[name] != known[name]]
            if wrong:
                lines.append(f"{cell.name} saw other prompts than {first.name}, first in {wrong[0]}")
    return lines


def _prompts(path: Path) -> dict[str, list[str]]:
    found = {}
    for file in sorted(path.glob("rollouts/*.parquet")):
        try:
            found[file.stem] = pq.read_table(file, columns=["prompt"])["prompt"].to_pylist()
        except (pa.ArrowException, OSError, KeyError):
            continue
    return found


def _arm(name: str) -> str:
    named = _NAME.fullmatch(name)
    return named["arm"] if named else name


def _about(arm: str) -> set[str]:
    """The settings that an arm's name gives: `bot_grpo+w_s=0+window=3` is about w_s and reward_settings.window."""
    keys = {part.partition("=")[0] for part in arm.split("+")[1:]}
    return keys | {f"reward_settings.{key}" for key in keys}


def _flat(settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, value in settings.items():
        if isinstance(value, dict) and value:
            out |= _flat(value, f"{prefix}{key}.")
        else:
            out[f"{prefix}{key}"] = None if value in (None, [], {}, "") else value
    return out


def _default(key: str, known: Iterable[Mapping[str, Any]]) -> Any:
    """What a setting is where an older version's config.yaml hasn't got it. Imported late, for it takes time."""
    known = list(known)
    if all(key in s for s in known) or all(s.get(key) is None for s in known) or "." in key:
        return None  # nothing to fill in, or only what is empty
    from bot_grpo.config import BoTGRPOConfig

    field = BoTGRPOConfig.__dataclass_fields__.get(key)
    return field.default if field is not None and isinstance(field.default, bool | int | float | str) else None


def _differing(key: str, values: Mapping[str, Any]) -> list[str]:
    groups: dict[str, list[str]] = defaultdict(list)
    for name, value in values.items():
        number = isinstance(value, int | float) and not isinstance(value, bool)
        groups[f"{value:g}" if number else json.dumps(value) if isinstance(value, dict) else str(value)].append(name)
    if len(groups) < 2:
        return []
    return [f"{key}: " + "; ".join(f"{value} ({_few(names)})" for value, names in groups.items())]


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
