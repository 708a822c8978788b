"""What the rewards of tasks share that are made from plain settings, as YAML can hold them."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from pathlib import Path
from typing import Any

from reward_models.errors import RewardError
from sandbox.judge_settings import JudgeSettings

_JUDGE_FIELDS = frozenset(JudgeSettings.__dataclass_fields__)


def judge_settings(settings: Mapping[str, Any], name: str, cache: Path | None) -> JudgeSettings:
    """Of the judge whose settings are `settings[name]`; its answers are kept in `cache`, unless they say where.

    Raises RewardError, one line: no mapping, a field that a judge hasn't, a key, or values that don't fit.
    """
    given = settings[name]
    if not isinstance(given, Mapping):
        raise RewardError(f"reward_settings: {name} is a mapping of the judge's settings (model, base_url, ...)")
    if "api_key" in given:
        raise RewardError(f"reward_settings: {name}.api_key would be written to the run's config; set $OPENAI_API_KEY")
    check_known(given, _JUDGE_FIELDS, f"reward_settings: {name}")
    try:
        return JudgeSettings(**{"cache": cache, **given})
    except (TypeError, ValueError) as error:
        raise RewardError(f"reward_settings: {name}: {error}") from error


def is_number(value: Any) -> bool:
    """A finite number, and no truth value: YAML has both, and nan and inf besides."""
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


def check_known(given: Mapping[str, Any], fields: frozenset[str], where: str) -> None:
    """A RewardError, one line, for a name that is none of `fields`."""
    unknown = sorted(set(given) - fields)
    if unknown:
        raise RewardError(f"{where} has no {', '.join(unknown)}; there are: {', '.join(sorted(fields))}")
