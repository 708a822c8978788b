"""The arms of a study: algorithms, and what-if variations of one. Each is held to be a run that could start."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from bot_grpo.cli.train import parse
from bot_grpo.compare_run import Planned, arm_name
from bot_grpo.errors import UserError

_SETTINGS = ("algorithm_settings", "reward_settings")


@dataclass(frozen=True)
class Arm:
    """An arm's name, its flags for `bot-grpo train` but for the seed, and the config that such a run would write."""

    name: str
    flags: tuple[str, ...]
    config: Mapping[str, Any]

    def cell(self, study: Path, seed: int) -> Planned:
        """Its cell of that seed. Cells that would do the same cold start do it once."""
        flags = ("--cold_starts", str(study / "cold-starts"), *self.flags, "--seed", str(seed))
        return Planned(self.name, seed, study / f"{self.name}-seed{seed}", flags)


def make_arms(
    config: str, algorithms: Sequence[str], what_ifs: Sequence[Sequence[str]], extra: Sequence[str] = ()
) -> list[Arm]:
    """The algorithms, then the variations. All take the same rollouts a step: DAPO's refills are off unless asked for.

    Args:
        config: a recipe's name or a file, as for `bot-grpo train`.
        algorithms: names; the first is what a variation varies, unless it names another.
        what_ifs: one a variation: `KEY=VALUE`s, the name of an algorithm before them or not.
        extra: more flags of `bot-grpo train`, the same for every cell.

    Raises UserError, and what `bot-grpo train` raises for settings that no run could start with.
    """
    flags = ["--config", config, *extra]
    refills = _parsed([*flags, "--algorithm", "grpo"]).dynamic_sampling  # what is asked for, and not DAPO's own default
    flags += ["--dynamic_sampling", str(refills)]
    arms = [_arm(flags, name, []) for name in algorithms]
    for words in what_ifs:
        algorithm, changes = (words[0], words[1:]) if "=" not in words[0] else (algorithms[0], words)
        if not changes or not all("=" in change.strip("=") for change in changes):
            raise UserError(f"--what-if {' '.join(words)}: write it as [ALGORITHM] KEY=VALUE ..., as in w_s=0 window=3")
        arms.append(_arm(flags, algorithm, changes))
    names = [arm.name for arm in arms]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise UserError(f"{twice} is asked for twice")
    return arms


def _arm(flags: Sequence[str], algorithm: str, changes: Sequence[str]) -> Arm:
    flags = [*flags, "--algorithm", algorithm]
    if changes:
        flags += _changed(_parsed(flags), changes)
    args = _parsed(flags)
    _check(args)
    config = {key: value for key, value in args.changed().items() if key != "seed"}
    return Arm(arm_name(algorithm, changes), tuple(flags), config)


def _parsed(flags: Sequence[str]) -> Any:
    return parse([*flags, "--output_dir", "runs/none"])


def _check(args: Any) -> None:
    """What `bot-grpo train` would refuse, as far as it costs nothing to know: reward models are not opened."""
    from bot_grpo.task_rows import check_settings

    if not args.eval_prompts or args.eval_strategy == "no":
        raise UserError("arms are compared by their evaluations: set eval_prompts, and eval_strategy and eval_steps")
    check_settings(args)


def _changed(args: Any, changes: Sequence[str]) -> list[str]:
    """Flags for `KEY=VALUE`s: a setting of the algorithm, of the run, or else of the reward."""
    from bot_grpo.algorithms import get_algorithm

    try:
        own = set(get_algorithm(args.algorithm).settings)
    except ValueError as error:
        raise UserError(str(error)) from error
    fields = {f.name for f in dataclasses.fields(args)}
    settings = {name: dict(getattr(args, name) or {}) for name in _SETTINGS}
    flags: list[str] = []
    for change in changes:
        key, _, text = change.partition("=")
        value = _value(change, text)
        where, _, inner = key.partition(".")
        if where in _SETTINGS and inner:
            settings[where][inner] = value
        elif key in own:
            settings["algorithm_settings"][key] = value
        elif key in fields:
            flags += [f"--{key}", value if isinstance(value, str) else json.dumps(value)]
        else:
            settings["reward_settings"][key] = value
    for name, changed in settings.items():
        if changed != dict(getattr(args, name) or {}):
            flags += [f"--{name}", json.dumps(changed)]
    return flags


def _value(change: str, text: str) -> Any:
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise UserError(f"--what-if {change}: what is after = is not YAML") from error
