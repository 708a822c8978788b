"""Rollouts as the rows of runs/NAME/rollouts/*.parquet; the sandbox's verdict is spelled out where there is one."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

from torch import Tensor

from bot_grpo.algorithms import Prepared
from bot_grpo.rewards import Scored
from bot_grpo.rundir import RunDir
from sandbox.outcome import Outcome


def rollout_rows(
    run: RunDir,
    step: int,
    kind: str,
    group_size: int,
    scored: list[Scored],
    token_rewards_BT: Tensor,
    prepared: Prepared | None,
    *,
    first: int = 0,
) -> list[dict[str, Any]]:
    """One row a rollout. `place` counts the batch's rollouts from 0, over all processes, and `group` its prompts;
    `first` is the number of rollouts before these."""
    rows = []
    for i, one in enumerate(scored):
        n = len(one.rollout.token_ids)
        row: dict[str, Any] = {
            "step": step,
            "kind": kind,
            "group": (first + i) // group_size,
            "place": first + i,
            "prompt": one.rollout.prompt,
            "completion": _storable(one.rollout.completion),
            "token_ids": list(one.rollout.token_ids),
            "spans": [list(s) for s in one.rollout.spans],
            "token_rewards": token_rewards_BT[i, :n].tolist(),
            "local": one.local_T.tolist(),
            "advantages": prepared.advantages_BT[i, :n].tolist() if prepared else None,
            "outcome": one.signal.outcome if one.signal else None,
            "scored": one.signal is not None,
            "reason": one.reason,
            "truncated": one.rollout.truncated,
        }
        if (answer := one.rollout.row.get("answer")) is not None:
            row["answer"] = str(answer)
        verdict = one.signal.details.get("sandbox") if one.signal else None
        if isinstance(verdict, Outcome):
            row |= _verdict(run.path, verdict, one.rollout.row.get("requirements") or ())
        rows.append(row)
    return rows


def _verdict(run: Path, outcome: Outcome, requirements: Any) -> dict[str, Any]:
    shot = outcome.screenshot
    if shot is not None and shot.resolve().is_relative_to(run.resolve()):
        shot = shot.resolve().relative_to(run.resolve())
    return {
        "status": str(outcome.status),
        "code": _storable(outcome.code),
        "code_start": outcome.code_start,
        "diagnostics": [dataclasses.asdict(d) for d in outcome.diagnostics],
        "requirements": [
            {"check": json.dumps(check), "met": result.met, "reason": result.reason}
            for check, result in zip(requirements, outcome.requirements, strict=False)
        ],
        "screenshot": None if shot is None else str(shot),
    }


def _storable(text: str) -> str:
    """UTF-8 has no lone surrogates; one character for one keeps every offset."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
