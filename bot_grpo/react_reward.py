"""From `reward_settings` to the React reward: its sandbox and its judges."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bot_grpo.errors import UserError
from reward_models.compiler import CompilerReward
from sandbox.judge import Judge, JudgeSettings

JUDGES = ("code_judge", "screenshot_judge")
_JUDGE_FIELDS = frozenset(JudgeSettings.__dataclass_fields__)
_FIELDS = frozenset(CompilerReward.__dataclass_fields__) - {"sandbox", "spread"}


def check(settings: Mapping[str, Any]) -> None:
    """A UserError, one line, for a setting that is not known or a judge that cannot be asked."""
    _known(settings, _FIELDS, "reward_settings")
    for name in JUDGES:
        if settings.get(name) is not None:
            _judge_settings(settings, name, None)
    make_reward(settings, sandbox=None, cache=None)


def sandbox_settings(settings: Mapping[str, Any]) -> dict[str, bool]:
    """What the sandbox has to find out for this reward."""
    wanted = {"lint": settings.get("w_lint") or settings.get("lint_lines"), "page": settings.get("w_page")}
    return {name: True for name, on in wanted.items() if on}


def make_reward(settings: Mapping[str, Any], *, sandbox: Any, cache: Path | None) -> CompilerReward:
    """The reward. Judges' answers are kept in `cache`, unless their settings name another folder."""
    try:
        judges = {
            name: Judge(_judge_settings(settings, name, cache)) for name in JUDGES if settings.get(name) is not None
        }
        return CompilerReward(sandbox, **{**settings, **judges})
    except ValueError as error:
        raise UserError(f"reward_settings: {error}") from error


def _judge_settings(settings: Mapping[str, Any], name: str, cache: Path | None) -> JudgeSettings:
    given = settings[name]
    if not isinstance(given, Mapping):
        raise UserError(f"reward_settings: {name} is a mapping of the judge's settings (model, base_url, ...)")
    if "api_key" in given:
        raise UserError(f"reward_settings: {name}.api_key would be written to the run's config; set $OPENAI_API_KEY")
    _known(given, _JUDGE_FIELDS, f"reward_settings: {name}")
    try:
        return JudgeSettings(**{"cache": cache, **given})
    except (TypeError, ValueError) as error:
        raise UserError(f"reward_settings: {name}: {error}") from error


def _known(given: Mapping[str, Any], fields: frozenset[str], where: str) -> None:
    unknown = sorted(set(given) - fields)
    if unknown:
        raise UserError(f"{where} has no {', '.join(unknown)}; there are: {', '.join(sorted(fields))}")
