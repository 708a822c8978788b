"""An INVENTED run directory in the trainer's format, for tests of the report. No number in it was ever measured.

`python tests/bot_grpo/fake_run.py DIRECTORY` writes one to look at.
"""

from __future__ import annotations

import json
import math
import random
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image, ImageDraw, ImageFont

from bot_grpo.token_rows import SCHEMA as TOKENS

HOSTILE = (
    "</script><script>document.title='pwned'</script><!-- <script> --> ]]> <img src=x onerror=document.title='pwned'>",
    "emoji \U0001f600 pair \U0001f468\u200d\U0001f469, NUL \x00, bell \x07, U+2028 \u2028, bidi \u202e a \u202c",
    "${document.title='pwned'} {{ 7*7 }} {% raw %} &lt;b&gt; \" ' ` \\ \\u003c/script\\u003e",
    "",
)
"""Texts that try to leave the data they travel in. (Parquet text cannot hold a lone surrogate; JSON can.)"""

NAMES = (
    "Counter",
    "Profile card",
    "To-do list",
    "Price table",
    "Dark-mode switch",
    "Star rating",
    "Login form",
    "Clock",
)
STATUSES = ("compile_error", "compile_error", "compile_error", "runtime_error", "blank", "no_code")
_TEXT, _NUMBER = pa.string(), pa.int64()
_DIAGNOSTIC = pa.struct(
    {"source": _TEXT, "severity": _TEXT, "line": _NUMBER, "column": _NUMBER, "message": _TEXT}.items()
)
_REQUIREMENT = pa.struct({"check": _TEXT, "met": pa.bool_(), "reason": _TEXT}.items())
_FLOATS = pa.list_(pa.float64())
SCHEMA = pa.schema(
    {
        "step": _NUMBER, "kind": _TEXT, "group": _NUMBER, "prompt": _TEXT, "completion": _TEXT,
        "token_ids": pa.list_(_NUMBER), "spans": pa.list_(pa.list_(_NUMBER)), "token_rewards": _FLOATS,
        "local": _FLOATS, "advantages": _FLOATS, "outcome": pa.float64(), "scored": pa.bool_(),
        "truncated": pa.bool_(), "status": _TEXT, "code": _TEXT, "code_start": _NUMBER,
        "diagnostics": pa.list_(_DIAGNOSTIC), "requirements": pa.list_(_REQUIREMENT), "screenshot": _TEXT,
        "place": _NUMBER,
    }.items()
)  # fmt: skip


def tokenise(text: str, rng: random.Random) -> tuple[list[int], list[list[int]]]:
    """Invented tokens: words and punctuation, and an empty end token; the spans tile the text."""
    spans = [[m.start(), m.end()] for m in re.finditer(r"\s?\w{1,6}|[^\w\s]+\n?|\s+", text)]
    tiled, position = [], 0
    for start, end in spans:
        tiled.append([position, end])
        position = max(end, start)
    if position < len(text):
        tiled.append([position, len(text)])
    tiled.append([len(text), len(text)])
    return [rng.randrange(49_152) for _ in tiled], tiled


def write_fake_run(
    root: Path,
    *,
    steps: int = 12,
    eval_every: int = 3,
    groups: int = 3,
    rollouts: int = 8,
    held_out: int = 10,
    react: bool = True,
    noisy_pictures: bool = False,
    pictures: int = 24,
    hostile: bool = False,
    padding: int = 0,
    updates: int = 1,
    arm: str = "bot_grpo",
    seed: int = 0,
) -> Path:
    """Write the run and return `root`. `react=False` is a run without statuses, code or pictures (like AIME).

    `noisy_pictures` do not compress; `padding` adds that many lines to each completion. `updates` on each batch: above
    1 there are ratios; 0 is a run of an earlier version, which kept nothing of tokens. Prompts depend on the step and
    the group alone, so that runs of other arms are cells that can be compared.
    """
    rng = random.Random(seed if arm == "bot_grpo" else f"{arm} {seed}")
    for folder in ("rollouts", "screenshots"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    config: dict[str, Any] = {
        "recipe": "invented", "algorithm": arm.split("+")[0], "model": "smollm2-135m",
        "task": "react" if react else "aime", "seed": seed, "report_to": [],
        "num_generations": rollouts, "max_steps": steps, "learning_rate": 3e-4,
        "versions": {"torch": "0.0", "trl": "0.0"}, "commit": "0" * 40, "started": "2030-01-02 10:00",
    }  # fmt: skip
    (root / "config.yaml").write_text(json.dumps(config))
    names = _pictures(root, rng, noisy_pictures, pictures) if react else []
    make = {"rng": rng, "react": react, "pictures": names, "hostile": hostile, "padding": padding}
    metrics = []
    for step in range(steps + 1):
        skill = 1 / (1 + math.exp(-(step - steps / 2) / max(steps / 8, 0.5)))
        if step:
            rows = [_row(step, "train", g, skill, **make) for g in range(groups) for _ in range(rollouts)]
            if updates:
                _write_tokens(root / f"tokens/step-{step:05d}.parquet", rows, random.Random(step), updates)
            _write_rows(root / f"rollouts/step-{step:05d}.parquet", rows)
            metrics.append(_training_row(step, rows, rng, react))
        if step % eval_every == 0:
            rows = [_row(step, "eval", g, skill, **make) for g in range(held_out)]
            _write_rows(root / f"rollouts/eval-{step:05d}.parquet", rows)
            metrics.append({"step": step, **{f"eval/{k}": v for k, v in _rates(rows, react).items()}})
    if steps >= 5 and react:
        metrics[5]["alarms"] = ["every group had zero variance"]
    with (root / "metrics.jsonl").open("w") as file:
        file.writelines(json.dumps(row) + "\n" for row in metrics)
    (root / "summary.json").write_text(json.dumps({"seconds": 21.5 * steps, "finished": True}))
    return root


def _rates(rows: list[dict[str, Any]], react: bool) -> dict[str, float]:
    count = len(rows)
    rates = {"completion_length": sum(len(r["token_ids"]) for r in rows) / count}
    if not react:
        return {**rates, "accuracy": sum(r["outcome"] > 0 for r in rows) / count}
    met = [sum(q["met"] for q in r["requirements"]) / max(1, len(r["requirements"])) for r in rows]
    return {
        **rates,
        "compile_rate": sum(r["status"] in {"ok", "blank", "runtime_error"} for r in rows) / count,
        "render_rate": sum(r["status"] == "ok" for r in rows) / count,
        "requirements": sum(met) / count,
    }


def _training_row(step: int, rows: list[dict[str, Any]], rng: random.Random, react: bool) -> dict[str, Any]:
    outcome = sum(r["outcome"] for r in rows) / len(rows)
    generate, score, update = 9 + rng.random(), 1.5 + rng.random(), 8.5 + rng.random()
    return {
        "step": step, **_rates(rows, react), "reward": outcome - 0.05, "reward/outcome": outcome, "reward/local": -0.05,
        "truncated": rng.random() * 0.2, "loss": rng.gauss(0, 0.02), "learning_rate": 3e-4, "grad_norm": rng.random(),
        "seconds/generate": generate, "seconds/score": score, "seconds/update": update,
        "seconds/step": generate + score + update, "tokens": 3072 * step, "algo/sigma": 0.2 + 0.2 * rng.random(),
        "algo/zero_variance_groups": None, "algo/equal_outcome_groups": 0.25,
    }  # fmt: skip


def _row(
    step: int,
    kind: str,
    group: int,
    skill: float,
    *,
    rng: random.Random,
    react: bool,
    pictures: list[str],
    hostile: bool,
    padding: int,
) -> dict[str, Any]:
    name = NAMES[(group + (0 if kind == "eval" else step * 3)) % len(NAMES)]
    status = "ok" if rng.random() < skill else rng.choice(STATUSES)
    reply, code, start = _reply(name, status, rng, padding) if react else (_solution(rng), "", 0)
    if hostile:
        reply = rng.choice(HOSTILE) + reply + rng.choice(HOSTILE)
        start = reply.find(code)
    ids, spans = tokenise(reply, rng)
    ok = status == "ok"
    outcome = 1.0 if ok else -0.2 * (status == "blank")
    local = [-0.3 * max(0.0, 1 - abs(i - len(ids) * 0.7) / 12) * (not ok) for i in range(len(ids))]
    rewards = [outcome + 0.5 * value for value in local]
    row: dict[str, Any] = {
        "step": step, "kind": kind, "group": group, "completion": reply, "token_ids": ids, "spans": spans,
        "prompt": f"Write a React component: a {name.lower()}. Answer with one code block.",
        "token_rewards": rewards if kind == "train" else [], "local": local if kind == "train" else [],
        "advantages": [(r - skill) / 0.5 for r in rewards] if kind == "train" else [],
        "outcome": outcome, "scored": True, "truncated": rng.random() < 0.1,
    }  # fmt: skip
    if react:
        line = 1 + code[: len(code) * 7 // 10].count("\n")
        found = [_diagnostic("esbuild", "error", line, 7, 'Expected "}" but found end of file')]
        row |= {
            "status": status, "code": code, "code_start": start,
            "diagnostics": found if status == "compile_error" else [],
            "requirements": [
                _requirement({"check": "role", "role": "button", "name": "Add", "min": 1}, ok, "no such button"),
                _requirement({"check": "text", "text": name}, ok or status == "blank", "the text is not there"),
                _requirement(
                    {"check": "click", "role": "button", "nth": 1, "expect": {"number_delta": 1}}, False,
                    "no number went up by 1",
                ),
            ],
            "screenshot": rng.choice(pictures) if status in {"ok", "blank"} else None,
        }  # fmt: skip
    return row


def _reply(name: str, status: str, rng: random.Random, padding: int) -> tuple[str, str, int]:
    title = name.title().replace(" ", "").replace("-", "")
    extra = "\n".join(f"  // line {rng.random()} of padding" for _ in range(padding))
    code = f"""import {{ useState }} from 'react';

export default function {title}() {{
  const [count, setCount] = useState({rng.randrange(20)});
{extra}
  return (
    <div className="p-6 rounded-xl shadow max-w-sm mx-auto">
      <h1 className="text-xl font-semibold">{name}</h1>
      <p>Total: {{count}}</p>
      <button onClick={{() => setCount(count + 1)}}>Add</button>
    </div>
  );
{"" if status == "compile_error" else "}"}
"""
    if status == "no_code":
        return "Certainly! Here is how one would write such a component.", "", 0
    before = "Here is the component:\n\n```jsx\n"
    return f"{before}{code}```", code, len(before)


def _solution(rng: random.Random) -> str:
    return f"(step 1) The sum of the roots is {rng.randrange(99)}.\n(step 2) So n = 3.\n(final) {rng.randrange(1000)}"


def _diagnostic(source: str, severity: str, line: int, column: int, message: str) -> dict[str, Any]:
    return {"source": source, "severity": severity, "line": line, "column": column, "message": message}


def _requirement(check: dict[str, Any], met: bool, reason: str) -> dict[str, Any]:
    return {"check": json.dumps(check), "met": met, "reason": "" if met else reason}


def _pictures(root: Path, rng: random.Random, noisy: bool, count: int) -> list[str]:
    """1280 x 800 pages with a card on them; noise instead where the test wants pictures that do not compress."""
    names = []
    for number in range(2 * count if noisy else count):
        if noisy:
            picture = Image.frombytes("RGB", (480, 300), rng.randbytes(480 * 300 * 3))
        else:
            picture = Image.new("RGB", (1280, 800), "white")
            draw = ImageDraw.Draw(picture)
            hue = rng.choice(["#2563eb", "#16a34a", "#db2777", "#7c3aed", "#0f172a"])
            draw.rounded_rectangle((440, 180, 840, 480), 24, outline="#d4d4d8", width=3)
            draw.text((480, 220), NAMES[number % len(NAMES)], fill="#18181b", font=ImageFont.load_default(36))
            draw.text((480, 290), f"Total: {number}", fill="#52525b", font=ImageFont.load_default(26))
            draw.rounded_rectangle((480, 370, 640, 430), 12, fill=hue)
            draw.text((535, 385), "Add", fill="white", font=ImageFont.load_default(24))
        name = f"screenshots/{number:04d}.png"
        picture.save(root / name)
        names.append(name)
    return names


def _write_rows(path: Path, rows: list[dict[str, Any]]) -> None:
    names = set().union(*rows)
    schema = pa.schema([field for field in SCHEMA if field.name in names])
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), path)


def _write_tokens(path: Path, rows: list[dict[str, Any]], rng: random.Random, updates: int) -> None:
    """Entropies that are high where a word begins; ratios near 1."""
    path.parent.mkdir(exist_ok=True)
    found = []
    for place, row in enumerate(rows):
        row["place"] = place
        entropies = [
            abs(rng.gauss(0.2, 0.9)) if start % 3 == 0 else abs(rng.gauss(0, 0.05)) for start, _ in row["spans"]
        ]
        ratios = [rng.gauss(0, 0.02) for _ in row["spans"]] if updates > 1 else None
        found.append({"step": row["step"], "place": place, "entropies": entropies, "log_ratios": ratios})
    pq.write_table(pa.Table.from_pylist(found, schema=TOKENS), path)


def write_fake_study(root: Path, arms: Sequence[str] = ("bot_grpo", "grpo"), seeds: int = 2, **changes: Any) -> Path:
    """INVENTED cells of a study, ARM-seedN, whose runs saw the same prompts."""
    for arm in arms:
        for seed in range(seeds):
            write_fake_run(root / f"{arm}-seed{seed}", arm=arm, seed=seed, **changes)
    return root


if __name__ == "__main__":
    print(write_fake_run(Path(sys.argv[1]), updates=2))
