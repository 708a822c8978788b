"""The React reward from plain settings, as YAML can hold them: its sandbox and its judges."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reward_models.compiler import CompilerReward
from reward_models.errors import RewardError
from reward_models.plain_settings import check_known, judge_settings
from sandbox.judge import Judge
from sandbox.pool import open_sandbox

JUDGES = ("code_judge", "screenshot_judge")
_FIELDS = frozenset(CompilerReward.__dataclass_fields__) - {"sandbox", "spread"}


def check(settings: Mapping[str, Any]) -> None:
    """A RewardError, one line, for a setting that is not known or a judge that cannot be asked."""
    check_known(settings, _FIELDS, "reward_settings")
    for name in JUDGES:
        if settings.get(name) is not None:
            judge_settings(settings, name, None)
    make_reward(settings, sandbox=None, cache=None)


def open_compiler(*, workers: int | str = 1, timeout_s: float = 5.0, cache: Path | None = None, **settings: Any) -> Any:
    """A `CompilerReward` on a sandbox of its own, which its `close` ends.

    `workers` and `timeout_s` are the sandbox's; the rest is as for `make_reward`.
    """
    check(settings)
    sandbox = open_sandbox(workers, timeout_s=timeout_s, **sandbox_settings(settings))
    reward = make_reward(settings, sandbox=sandbox, cache=cache)
    reward.close = sandbox.close  # type: ignore[attr-defined]  # of a sandbox that is given, the giver is the owner
    return reward


def sandbox_settings(settings: Mapping[str, Any]) -> dict[str, bool]:
    """What the sandbox has to find out for this reward."""
    wanted = {"lint": settings.get("w_lint") or settings.get("lint_lines"), "page": settings.get("w_page")}
    return {name: True for name, on in wanted.items() if on}


def make_reward(settings: Mapping[str, Any], *, sandbox: Any, cache: Path | None) -> CompilerReward:
    """The reward. Judges' answers are kept in `cache`, unless their settings name another folder."""
    try:
        judges = {
            name: Judge(judge_settings(settings, name, cache)) for name in JUDGES if settings.get(name) is not None
        }
        return CompilerReward(sandbox, **{**settings, **judges})
    except ValueError as error:
        raise RewardError(f"reward_settings: {error}") from error
