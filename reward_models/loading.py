"""Reward models by name: a built-in, `module:attribute`, `path/to/file.py:Name`, or a package's entry point."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import inspect
import sys
from collections.abc import Iterable, Mapping
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any
from zlib import crc32

from reward_models.base import TokenRewardModel
from reward_models.errors import RewardError
from reward_models.functions import RewardFunction, as_model, is_reward_function
from reward_models.scoring import said
from sandbox.errors import SetupError

GROUP = "bot_grpo.reward_models"
"""The entry points that packages name their reward models in."""

BUILT_IN = {
    "compiler": "reward_models.react:open_compiler",
    "aime": "reward_models.aime:AIMEReward",
    "process": "reward_models.process:ProcessReward",
    "implicit": "reward_models.implicit:ImplicitReward",
    "steps": "reward_models.steps:StepsReward",
    "arithmetic": "reward_models.arithmetic:ArithmeticReward",
    "lexical": "reward_models.lexical:LexicalReward",
    "learned": "reward_models.learned:LearnedReward",
}


def load_reward(name: str, /, **arguments: Any) -> TokenRewardModel:
    """The reward model called `name`, made with `arguments`.

    A class or a factory is called with them; a reward function of TRL's kind gets them at every call; an object that
    has `score` is taken as it is.

    Raises:
        RewardError: there is no such model, or it cannot be made so; one line.
    """
    return make(find(name), arguments, name)


def find(name: str) -> Any:
    """The class, factory, function or object behind a name. Raises RewardError, which names those there are."""
    if name in BUILT_IN:
        return _of_module(BUILT_IN[name], name)
    where, colon, attribute = name.rpartition(":")
    if colon and where.endswith(".py"):
        return _attribute(_file(Path(where).expanduser(), name), attribute, where)
    if colon:
        return _of_module(name, name)
    if name.endswith(".py"):
        there = _rewards_of(_file(Path(name).expanduser(), name))
        raise RewardError(f"say which name in {name} is meant: {name}:NAME; {_list(there)}")
    return _entry_point(name)


def make(target: Any, arguments: Mapping[str, Any], name: str) -> TokenRewardModel:
    """The reward model that `find` led to, made with `arguments`. Raises RewardError."""
    if hasattr(target, "score") and not inspect.isclass(target):
        if arguments:
            raise RewardError(f"{name} is made already, so it takes no arguments ({', '.join(arguments)})")
        return _with_score(target, name)
    if is_reward_function(target):
        return RewardFunction(target, arguments)
    if not callable(target):
        return _with_score(target, name)
    _check_arguments(target, arguments, name)
    try:
        made = target(**arguments)
    except (RewardError, SetupError):
        raise
    except (Exception, SystemExit) as error:  # whatever a plug-in raises
        raise RewardError(f"{name} cannot be made: {said(error)}") from error
    return _with_score(as_model(made), name)


def _with_score(model: Any, name: str) -> TokenRewardModel:
    if not callable(getattr(model, "score", None)):
        raise RewardError(
            f"{name} is {type(model).__name__}, which has no method `score`, and takes no `completions` either, "
            "as a reward function of TRL's does"
        )
    found: TokenRewardModel = model
    return found


def _of_module(path: str, name: str) -> Any:
    module, _, attribute = path.rpartition(":")
    _importable(Path.cwd())
    try:
        loaded = importlib.import_module(module)
    except (Exception, SystemExit) as error:  # whatever a plug-in's module raises
        raise RewardError(f"{name}: cannot import {module}: {said(error)}") from error
    return _attribute(loaded, attribute, module)


def _file(path: Path, name: str) -> ModuleType:
    if not path.is_file():
        raise RewardError(f"{name}: there is no file {path}")
    module_name = f"reward_model_{path.stem}_{crc32(str(path.resolve()).encode()):08x}"  # in a child process the same
    spec = importlib.util.spec_from_file_location(module_name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    _importable(path.resolve().parent)
    sys.modules[module_name] = module  # dataclasses and pickle look there
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # whatever a plug-in's file raises
        del sys.modules[module_name]
        raise RewardError(f"{name}: {path} cannot be run: {said(error)}") from error
    return module


def _importable(folder: Path) -> None:
    """What lies beside a plug-in can be imported by it, after all that is installed."""
    if str(folder) not in sys.path:
        sys.path.append(str(folder))


def _attribute(module: ModuleType, attribute: str, where: str) -> Any:
    found: Any = module
    for part in attribute.split("."):
        if not hasattr(found, part):
            there = _rewards_of(module)
            raise RewardError(f"{where} has no {attribute!r}{_close(attribute, there)}; {_list(there)}")
        found = getattr(found, part)
    return found


def _rewards_of(module: ModuleType) -> list[str]:
    """The names in a module that look like reward models: what it defines itself, or imports and makes."""
    mine = {n: v for n, v in vars(module).items() if not n.startswith("_") and not isinstance(v, ModuleType)}
    return sorted(
        n
        for n, v in mine.items()
        if (callable(v) and getattr(v, "__module__", "") == module.__name__)
        or (hasattr(v, "score") and not inspect.isclass(v))
    )


def _entry_point(name: str) -> Any:
    found = {point.name: point for point in entry_points(group=GROUP)}
    if name not in found:
        there = sorted([*BUILT_IN, *found])
        raise RewardError(
            f"no reward model {name!r}{_close(name, there)}; {_list(there)}, "
            "or name your own as module:attribute or path/to/file.py:Name"
        )
    try:
        return found[name].load()
    except Exception as error:  # whatever a package raises
        raise RewardError(f"the entry point {name!r} ({found[name].value}) cannot be loaded: {said(error)}") from error


def _check_arguments(target: Any, arguments: Mapping[str, Any], name: str) -> None:
    try:
        parameters = inspect.signature(target).parameters
    except (TypeError, ValueError):  # written in C
        return
    named = {n: p for n, p in parameters.items() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    takes = f"it takes: {', '.join(named)}" if named else "it takes none"
    unknown = sorted(set(arguments) - set(named))
    if unknown and not any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        raise RewardError(f"{name} has no argument {unknown[0]!r}{_close(unknown[0], named)}; {takes}")
    missing = [n for n, p in named.items() if p.default is p.empty and n not in arguments]
    if missing:
        raise RewardError(f"{name} needs the argument {', '.join(missing)}; {takes}")


def _close(name: str, there: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(there), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def _list(there: Iterable[str]) -> str:
    return f"there are: {', '.join(there) or 'none'}"
