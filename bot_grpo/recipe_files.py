"""Recipes: settings in YAML. Some are one file; those for GPUs are put together from a task, a model and hardware.

recipes/NAME.yaml                            react-smollm2-cpu
recipes/{tasks,models,hardware}/PART.yaml    react-qwen2.5-3b-80gb is tasks/react, models/qwen2.5-3b, hardware/80gb

Where parts have the same key the later one holds: hardware before model before task.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from bot_grpo.errors import UserError

RECIPES = Path(__file__).with_name("recipes")
_PARTS = ("tasks", "models", "hardware")
_RECORDED = {"versions", "commit", "started", "completions_a_step", "step", "exported_with"}
"""What a run's config.yaml and an export's training.yaml hold besides settings."""


@dataclass(frozen=True)
class Hardware:
    """What a recipe is for: a GPU of this memory, so many processes that train, and GPUs for vLLM's server beside."""

    gpu: str | None = None
    processes: int = 1
    server_gpus: int = 0


@dataclass(frozen=True)
class Recipe:
    """Settings as a config has them, and the hardware that they are for."""

    settings: Mapping[str, Any] = field(default_factory=dict)
    hardware: Hardware = Hardware()


def recipe_names() -> list[str]:
    """All names that `--config` takes besides files."""
    return sorted([*whole(), *_combined()])


def whole() -> list[str]:
    """The names of recipes that are one file."""
    return sorted(p.stem for p in RECIPES.glob("*.yaml"))


def parts() -> list[list[str]]:
    """The names of tasks, models and hardware."""
    return [sorted(p.stem for p in (RECIPES / part).glob("*.yaml")) for part in _PARTS]


def in_words() -> str:
    """Every recipe, in a line: whole ones by name, the others by their parts."""
    tasks, models, hardware = (", ".join(part) for part in parts())
    return f"{', '.join(whole())}, and TASK-MODEL-HARDWARE of: {tasks}; {models}; {hardware}"


def read_recipe(name: str) -> Recipe:
    """A YAML file, or the recipe of that name. Raises UserError: there is none, or it is no mapping of settings."""
    if Path(name).is_file():
        files = [Path(name)]
    elif (RECIPES / f"{name}.yaml").is_file():
        files = [RECIPES / f"{name}.yaml"]
    elif name in _combined():
        files = [RECIPES / part / f"{one}.yaml" for part, one in zip(_PARTS, _combined()[name], strict=True)]
    else:
        close = difflib.get_close_matches(name, recipe_names(), n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(close)}?" if close else f"recipes: {in_words()}"
        raise UserError(f"no config {name!r}: neither a file nor a recipe ({hint})")
    settings: dict[str, Any] = {}
    for file in files:
        settings |= _read(file)
    hardware = settings.pop("hardware", None) or {}
    try:
        return Recipe({k: v for k, v in settings.items() if k not in _RECORDED}, Hardware(**hardware))
    except TypeError as error:
        raise UserError(f"{files[-1]}: hardware is a mapping of gpu, processes and server_gpus") from error


def _combined() -> dict[str, tuple[str, str, str]]:
    tasks, models, hardware = parts()
    return {f"{t}-{m}-{h}": (t, m, h) for t in tasks for m in models for h in hardware}


def _read(path: Path) -> dict[str, Any]:
    try:
        config = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UserError(f"{path} is not YAML: {' '.join(str(error).split())}") from error
    if not isinstance(config, dict):
        raise UserError(f"{path} is not a mapping of settings")
    return config
