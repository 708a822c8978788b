"""The card of a trained model (README.md): what it is, how it was trained, what came out, how to load it, and limits.

The front matter is huggingface_hub's `ModelCardData`, so what the hub would refuse is refused here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
import yaml
from huggingface_hub import EvalResult, ModelCard, ModelCardData

from bot_grpo import __version__
from bot_grpo.algorithms import ALGORITHMS
from bot_grpo.compare_svg import picture
from bot_grpo.compare_words import is_share, label, written
from bot_grpo.models import EMBEDDED
from bot_grpo.report_charts import SHARES
from bot_grpo.report_data import Series, to_series

EMBEDDED_BASE = "HuggingFaceTB/SmolLM2-135M-Instruct"
"""What the embedded model is made of (Apache-2.0)."""

_SECRET = re.compile(r"(^|_)(token|key|secret|password)$", re.IGNORECASE)
_LEFT_OUT = {
    *("output_dir", "cold_starts", "push_to_hub", "resume"),
    *("versions", "commit", "started", "step", "exported_with"),
}
_TASKS = {"react": "React components", "aime": "problems whose answers are whole numbers from 0 to 999"}
_OWN_DATA = {"react": "React prompts of bot-grpo", "aime": "arithmetic:1, made by bot-grpo"}
_OWN_REWARD = {"react": "compiler", "aime": "aime"}
_FILES = {".jsonl", ".csv", ".parquet", ".json"}


@dataclass(frozen=True)
class Evaluation:
    """results.json of a `bot-grpo eval`."""

    results: Mapping[str, Any]


def card(
    settings: Mapping[str, Any],
    rows: Sequence[Mapping[str, Any]],
    *,
    kind: str,
    dtype: str,
    base: str,
    step: int | None,
    evaluations: Sequence[Evaluation],
    name: str,
    title: str,
) -> tuple[str, str]:
    """The card as Markdown with its front matter, and curves.svg ("" where there is nothing to draw).

    Args:
        settings: of the run, with `versions` and `commit`; empty where they are not known.
        rows: of metrics.jsonl, up to the exported step.
        kind: merged, adapter or weights.
        base: the base model's name; a folder's last part is shown.
        name: what a person loads it by: a hub id, or the folder's name.
        title: what it is called.
    """
    series = to_series(rows)
    held_out = [key for key in _shares(series) if key.startswith("eval/")]
    curves = _curves(series, held_out)
    algorithm = ALGORITHMS.get(str(settings.get("algorithm")))
    results = [*_held_out_results(settings, series, held_out), *(r for e in evaluations for r in _results(e))]
    loader = jinja2.PackageLoader("bot_grpo")
    environment = jinja2.Environment(loader=loader, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True)
    text = environment.get_template("model_card.md.j2").render(
        name=name,
        title=title,
        kind=kind,
        dtype=dtype,
        base=_shown(base),
        embedded=base == EMBEDDED,
        step=step,
        s=settings,
        data=_data(settings),
        task=_TASKS.get(str(settings.get("task")), ""),
        algorithm=algorithm,
        rewards=_rewards(settings),
        chat=_chat(settings),
        curves=bool(curves),
        held_out=[_first_and_last(series, key) for key in held_out],
        evaluations=[_evaluation(e) for e in evaluations],
        settings=yaml.safe_dump(public(settings), sort_keys=False, allow_unicode=True).strip() if settings else "",
        versions=settings.get("versions") or {},
        commit=settings.get("commit"),
        version=__version__,
    )
    data = ModelCardData(
        model_name=title if results else None,
        eval_results=results or None,
        **_metadata(settings, base, kind),
    )
    return str(ModelCard(f"---\n{data.to_yaml()}\n---\n\n{text}")), curves


def public(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings without what is of one machine or secret: no keys, no tokens, of paths the last part."""
    return {k: _public(v) for k, v in settings.items() if k not in _LEFT_OUT and not k.startswith("hub_") and _open(k)}


def _public(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {k: _public(v) for k, v in value.items() if _open(str(k))}
    if isinstance(value, list | tuple):
        return [_public(v) for v in value]
    return _shown(value) if isinstance(value, str) else value


def _open(key: str) -> bool:
    return not _SECRET.search(key)


def _shown(text: str) -> str:
    """A path's last part: the rest is of one machine."""
    return Path(text).name if text.startswith(("/", "~/", "../")) and "\n" not in text else text


# -- facts ------------------------------------------------------------------------------------------------------------


def _metadata(settings: Mapping[str, Any], base: str, kind: str) -> dict[str, Any]:
    found: dict[str, Any] = {
        "library_name": "peft" if kind == "adapter" else "transformers",
        "pipeline_tag": "text-generation",
        "tags": [
            "bot-grpo",
            "reinforcement-learning",
            *filter(None, [settings.get("algorithm"), settings.get("task")]),
        ],
    }
    if base == EMBEDDED:
        found |= {"base_model": EMBEDDED_BASE, "license": "apache-2.0"}
    elif _hub_id(base):
        found["base_model"] = base
    if "base_model" in found:
        found["base_model_relation"] = "adapter" if kind == "adapter" else "finetune"
    if _hub_id(prompts := str(settings.get("prompts") or "")):
        found["datasets"] = [prompts]
    return found


def _hub_id(name: str) -> bool:
    """Whether it is OWNER/NAME, and nothing on this machine."""
    if Path(name).suffix.lower() in _FILES or Path(name).exists():
        return False
    return bool(re.fullmatch(r"\w[\w.-]*/[\w.-]+", name))


def _data(settings: Mapping[str, Any]) -> str:
    task = str(settings.get("task"))
    if settings.get("prompts"):
        return _shown(str(settings["prompts"]))
    tier = f", tier {settings['tier']}" if task == "react" and settings.get("tier") else ""
    return _OWN_DATA.get(task, "") + tier


def _rewards(settings: Mapping[str, Any]) -> list[str]:
    """The sources in words; without any, the task's own."""
    found = []
    for source in settings.get("rewards") or [{"model": _OWN_REWARD.get(str(settings.get("task")), "")}]:
        more = {k: v for k, v in source.items() if k in ("w_g", "w_s", "role") and v not in (None, 1.0, "both")}
        words = ", ".join(f"{k} {v}" for k, v in more.items())
        found.append(f"`{_shown(str(source['model']))}`" + (f" ({words})" if words else ""))
    return found


def _chat(settings: Mapping[str, Any]) -> str:
    """The messages to ask with, as Python."""
    system = settings.get("system_prompt")
    chat = [{"role": "system", "content": system}] if system else []
    return json.dumps([*chat, {"role": "user", "content": "..."}], ensure_ascii=False)


# -- results ----------------------------------------------------------------------------------------------------------


def _shares(series: Series) -> list[str]:
    """Metrics that are shares, in the order of the report's charts, held-out ones first."""
    found = [k for p in SHARES for kind in ("eval/", "") for k in sorted(series) if k.startswith(kind) and is_share(k)]
    order = sorted(dict.fromkeys(found), key=lambda k: (not k.startswith("eval/"), _rank(k)))
    return [k for k in order if k.startswith("eval/") or "/" not in k]


def _rank(key: str) -> int:
    from fnmatch import fnmatchcase

    return next(i for i, pattern in enumerate(SHARES) if fnmatchcase(key.removeprefix("eval/"), pattern))


def _curves(series: Series, held_out: Sequence[str]) -> str:
    """The held-out shares by step, or without any the training reward."""
    metrics = [key for key in held_out if len(series[key]) > 1][:3]
    metrics = metrics or [key for key in ("reward/outcome", "reward") if len(series.get(key, ())) > 1][:1]
    if not metrics:
        return ""
    curves = {key: [[step, value, value, value] for step, value in series[key]] for key in metrics}
    return picture({"metrics": metrics, "thresholds": [], "arms": [{"name": "this model", "curves": curves}]})


def _first_and_last(series: Series, key: str) -> tuple[str, str, str, int]:
    """(metric, value before, value at the end, its step)."""
    points = series[key]
    first = written(key, points[0][1]) if len(points) > 1 else ""
    return label(key).capitalize(), first, written(key, points[-1][1]), points[-1][0]


def _held_out_results(settings: Mapping[str, Any], series: Series, held_out: Sequence[str]) -> list[EvalResult]:
    source = str(settings.get("eval_source") or "") or _data(settings)
    return [
        EvalResult(
            task_type="text-generation",
            dataset_type=source if _hub_id(source) else str(settings.get("task")),
            dataset_name=f"held-out prompts: {_shown(source)}",
            metric_type=key.removeprefix("eval/"),
            metric_name=f"{label(key)}, step {series[key][-1][0]}",
            metric_value=round(series[key][-1][1], 4),
        )
        for key in held_out
    ]


def _results(evaluation: Evaluation) -> list[EvalResult]:
    found, settings = evaluation.results, evaluation.results["settings"]
    figures = {f"pass@{p['k']}": (f"Pass@{p['k']}", p["value"]) for p in found["pass_at_k"]}
    figures |= {key: (part["words"], part["value"]) for key, part in found.get("parts", {}).items()}
    data = str(settings["data"])
    return [
        EvalResult(
            task_type="text-generation",
            dataset_type=data if _hub_id(data) else str(settings["task"]),
            dataset_name=_shown(data),
            dataset_split=settings.get("split"),
            metric_type=key,
            metric_name=f"{name}, {found['n']} samples a problem, temperature {settings['temperature']:g}",
            metric_value=round(value, 4),
        )
        for key, (name, value) in figures.items()
    ]


def _evaluation(evaluation: Evaluation) -> dict[str, Any]:
    from bot_grpo.eval_results import percent, spread

    found, settings = evaluation.results, evaluation.results["settings"]
    rows = [(f"Pass@{p['k']}", percent(p["value"]), spread(p["by_problem"])) for p in found["pass_at_k"]]
    rows += [(p["words"], percent(p["value"]), spread(p["by_problem"])) for p in found.get("parts", {}).values()]
    return {
        "data": _shown(str(settings["data"])),
        "problems": found["problems"],
        "n": found["n"],
        "temperature": settings["temperature"],
        "top_p": settings["top_p"],
        "rows": rows,
        "notes": found["notes"],
    }
