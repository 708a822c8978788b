"""The reward models that a config or a command line names: read, opened, and mixed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, fields, replace
from typing import Any, get_args

from bot_grpo.errors import UserError
from bot_grpo.rundir import RunDir
from bot_grpo.waiting import told_when_slow
from reward_models import react
from reward_models.base import TokenRewardModel
from reward_models.errors import RewardError
from reward_models.guard import START_S, open_reward
from reward_models.mixing import Mix, Role, Source, close
from sandbox.pool import open_sandbox

COMPILER = "compiler"
"""The React reward: in a training run it is the task's own, on the run's sandbox."""


@dataclass(frozen=True)
class SourceSpec:
    """A source as it is written down: `{model: NAME, args: {...}, w_g: 1, w_s: 1, role: both, timeout_s: 30}`."""

    model: str
    args: Mapping[str, Any] = field(default_factory=dict)
    w_g: float = 1.0
    w_s: float = 1.0
    role: Role = "both"
    timeout_s: float | None = None


_KEYS = {f.name for f in fields(SourceSpec)}


def read_sources(value: Any, *, called: str = "rewards") -> tuple[SourceSpec, ...]:
    """Sources from a config's `rewards`: a list of mappings or names, one of them alone, or either as JSON.

    Raises UserError, one line, which says what was wrong with what is `called` so.
    """
    if isinstance(value, str) and value.lstrip().startswith(("[", "{")):
        try:
            value = json.loads(value)
        except ValueError as error:
            raise UserError(f"{called} is not JSON: {error}") from error
    if value is None or value == "":
        return ()
    entries = value if isinstance(value, Sequence) and not isinstance(value, str) else [value]
    return tuple(_read(entry, called) for entry in entries)


def _read(entry: Any, called: str) -> SourceSpec:
    if isinstance(entry, str):
        return SourceSpec(entry)
    if not isinstance(entry, Mapping) or not isinstance(entry.get("model"), str):
        raise UserError(f"{called}: a source is a name, or a mapping with its `model`; not {str(entry)[:80]}")
    unknown = sorted(map(str, set(entry) - _KEYS))
    if unknown:
        raise UserError(f"{called}: a source has no {unknown[0]!r}; it has: {', '.join(sorted(_KEYS))}")
    spec = SourceSpec(**{key: given for key, given in entry.items() if given is not None})
    good = {
        "args": (isinstance(spec.args, Mapping), "a mapping of the model's arguments"),
        "w_g": (_is_number(spec.w_g), "a number"),
        "w_s": (_is_number(spec.w_s) and spec.w_s >= 0, "a number, 0 or more"),
        "role": (spec.role in get_args(Role), f"one of {', '.join(get_args(Role))}"),
        "timeout_s": (spec.timeout_s is None or _is_time(spec.timeout_s), "seconds, above 0"),
    }
    for key, (fits, want) in good.items():
        if not fits:
            raise UserError(f"{called}: {key} of {spec.model} is {want}, not {getattr(spec, key)!r}")
    return spec


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value == value


def _is_time(value: Any) -> bool:
    return _is_number(value) and value > 0


def open_models(specs: Sequence[SourceSpec]) -> list[TokenRewardModel]:
    """The sources' models; the React reward is on a sandbox of its own. Raises RewardError, in a command's words."""
    try:
        return [_open(spec) for spec in specs]
    except RewardError as error:
        raise in_options(error) from error


def in_options(error: RewardError) -> RewardError:
    """What is wrong with `reward_settings`, as a run's config calls them, said of --args, as a command does."""
    return RewardError(re.sub(r"^reward_settings\b", "--args", str(error)))


def _open(spec: SourceSpec) -> TokenRewardModel:
    with told_when_slow(f"loading the reward model {spec.model} (in a child process for {START_S:g} s at most)"):
        return open_reward(spec.model, spec.args, timeout_s=spec.timeout_s)


def mixed(specs: Sequence[SourceSpec], models: Sequence[TokenRewardModel]) -> TokenRewardModel:
    """The reward of these sources: a `Mix`, or the only model as it is where nothing weighs it."""
    if len(specs) == 1 and (specs[0].w_g, specs[0].w_s, specs[0].role) == (1.0, 1.0, "both"):
        return models[0]
    return Mix(
        [
            Source(model, spec.w_g, spec.w_s, spec.role, short_name(spec.model))
            for spec, model in zip(specs, models, strict=True)
        ]
    )


def short_name(name: str) -> str:
    """What a source is called in metrics: the last part of its name."""
    return name.rpartition(":")[2]


class RunReward:
    """The reward of a training run: the sources that its config names, or without any the task's own.

    `own` is the task's: it takes `settings` where its source has no `args`. The React reward runs on the run's sandbox.
    All others are opened at once: what is wrong with one of them is said before there is a run. Raises RewardError,
    UserError.
    """

    def __init__(self, rewards: Any, settings: Mapping[str, Any], *, own: str = COMPILER) -> None:
        self.specs = read_sources(rewards) or (SourceSpec(own),)
        self.specs = tuple(replace(s, args=s.args or settings) if s.model == own else s for s in self.specs)
        self._wanted: dict[str, bool] = {}  # of the sandbox
        for spec in self.specs:
            if spec.model == COMPILER:
                react.check(spec.args)
                self._wanted |= react.sandbox_settings(spec.args)
        self._plugins = [None if spec.model == COMPILER else _open(spec) for spec in self.specs]

    @contextmanager
    def opened(self, run: RunDir, workers: str, timeout_s: float) -> Iterator[TokenRewardModel]:
        """The reward model, with a sandbox if one of the sources is the React reward; both are closed at the end."""
        with ExitStack() as stack:
            for plugin in self._plugins:
                stack.callback(close, plugin)
            sandbox = None
            if None in self._plugins:
                shots = run.screenshots
                made = open_sandbox(workers, timeout_s=timeout_s, screenshots=shots, **self._wanted)
                sandbox = stack.enter_context(made)
                sandbox.start()  # while the policy is loaded
            cache = run.path / "judge-cache"
            models = [
                react.make_reward(spec.args, sandbox=sandbox, cache=cache) if plugin is None else plugin
                for spec, plugin in zip(self.specs, self._plugins, strict=True)
            ]
            yield mixed(self.specs, models)
