"""What came out of an evaluation: figures with intervals, a table, results.json and samples.parquet."""

from __future__ import annotations

import json
import os
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bot_grpo.errors import UserError
from bot_grpo.eval_tasks import EvalTask, Mark, text_hash
from bot_grpo.evaluate import Problem, Sample
from sandbox import words
from tasks.passk import PassAtK, majority, paired, summary

CURVE = 32
"""Values of k on the page's curve, at most."""

Results = dict[str, Any]


@dataclass(frozen=True)
class Graded:
    """A problem with its samples and their marks, in the order of their numbers."""

    problem: Problem
    samples: tuple[Sample, ...]
    marks: tuple[Mark, ...]

    @property
    def count(self) -> tuple[int, int]:
        """(correct, graded)."""
        known = [mark.correct for mark in self.marks if mark.correct is not None]
        return sum(known), len(known)


def together(problems: Sequence[Problem], pairs: Sequence[tuple[Sample, Mark]]) -> list[Graded]:
    """Samples by problem."""
    by_problem: dict[str, list[tuple[Sample, Mark]]] = defaultdict(list)
    for sample, mark in sorted(pairs, key=lambda pair: pair[0].sample):
        by_problem[sample.problem].append((sample, mark))
    return [Graded(p, tuple(s for s, _ in by_problem[p.id]), tuple(m for _, m in by_problem[p.id])) for p in problems]


def default_ks(n: int) -> list[int]:
    """1, 2, 4, ... and n."""
    return sorted({n, *(2**i for i in range(n.bit_length()) if 2**i <= n)})


def results(
    task: EvalTask, graded: Sequence[Graded], config: Mapping[str, Any], ks: Sequence[int] | None, *, seed: int = 0
) -> Results:
    """All figures, as JSON holds them.

    Only problems with graded samples count, and only values of k that each of them has samples for; what is left out is
    in `notes`. Raises UserError where there is nothing to count.
    """
    counted = [g for g in graded if g.count[1]]
    if not counted:
        raise UserError("there are no graded samples to count")
    least = min(g.count[1] for g in counted)
    wanted = list(ks or default_ks(least))
    kept = [k for k in wanted if k <= least]
    counts = [g.count for g in counted]
    samples = [s for g in graded for s in g.samples]
    seconds, tokens = sum(s.seconds for s in samples), sum(s.tokens for s in samples)
    return {
        "task": task.name,
        **config,
        "problems": len(counted),
        "samples": len(samples),
        "expected": len(graded) * int(config["n"]),
        "unscored": sum(m.correct is None for g in graded for m in g.marks),
        "pass_at_k": [_as_json(p) for p in summary(counts, kept, seed)],
        "curve": [_as_json(p) for p in summary(counts, _curve_ks(least), seed)],
        **_majority(task, counted, seed),
        "parts": _parts(task, counted, seed),
        "truncated": fmean(s.truncated for s in samples),
        "mean_tokens": tokens / len(samples),
        "seconds": round(seconds, 2),
        "tokens_per_second": round(tokens / seconds, 2) if seconds else None,
        "reasons": dict(Counter(m.reason for g in graded for m in g.marks if m.correct is False).most_common(12)),
        "statuses": dict(Counter(m.status for g in graded for m in g.marks if m.status).most_common()),
        "notes": _notes(graded, counted, wanted, kept, int(config["n"])),
        "per_problem": [_problem(g) for g in graded],
    }


def _curve_ks(n: int) -> list[int]:
    if n <= CURVE:
        return list(range(1, n + 1))
    return sorted({int(k) for k in np.geomspace(1, n, CURVE).round()})


def _as_json(p: PassAtK) -> dict[str, Any]:
    return {
        "k": p.k,
        "value": p.value,
        "by_problem": [p.by_problem.low, p.by_problem.high],
        "two_level": [p.two_level.low, p.two_level.high],
    }


def _majority(task: EvalTask, counted: Sequence[Graded], seed: int) -> Results:
    """maj@n of a task whose answers can be compared."""
    if not all(g.problem.gold for g in counted):
        return {"majority": None, "no_answer": None}
    votes = [majority([m.answer for m in g.marks], int(g.problem.gold)) for g in counted]
    marks = [m for g in counted for m in g.marks]
    value, low, high = mean_interval(votes, seed)
    n = Counter(g.count[1] for g in counted).most_common(1)[0][0]
    return {
        "majority": {"n": n, "value": value, "by_problem": [low, high]},
        "no_answer": fmean(m.answer is None for m in marks),
    }


def _parts(task: EvalTask, counted: Sequence[Graded], seed: int) -> Results:
    """Mean of each part with its interval from drawing problems anew."""
    out = {}
    for name, called in task.parts.items():
        means = [fmean(m.parts[name] for m in g.marks if m.correct is not None) for g in counted]
        value, low, high = mean_interval(means, seed)
        out[name] = {"words": called, "value": value, "by_problem": [low, high]}
    return out


def mean_interval(values: Sequence[float], seed: int, resamples: int = 2000) -> tuple[float, float, float]:
    """Mean, and the 95 % interval of the means of resamples of `values` (one a problem)."""
    array = np.asarray(values, dtype=float)
    drawn = np.random.default_rng(seed).integers(len(array), size=(resamples, len(array)))
    low, high = np.quantile(array[drawn].mean(axis=1), [0.025, 0.975])
    return float(array.mean()), float(low), float(high)


def _notes(
    graded: Sequence[Graded], counted: Sequence[Graded], wanted: Sequence[int], kept: Sequence[int], n: int
) -> list[str]:
    notes = []
    have, expected = sum(len(g.samples) for g in graded), n * len(graded)
    if have < expected:
        notes.append(f"{have:,} of {expected:,} samples: the evaluation is not finished")
    if len(counted) < len(graded):
        left = len(graded) - len(counted)
        notes.append(
            f"{left} of {len(graded)} problems without a graded sample {words.plural(left, 'is', 'are')} left out"
        )
    if beyond := [str(k) for k in wanted if k not in kept]:
        notes.append(f"Pass@{', '.join(beyond)} needs more samples of each problem than there are")
    lost = Counter(m.reason for g in graded for m in g.marks if m.correct is None)
    notes += [f"{words.counted(n, 'sample')} could not be graded: {reason}" for reason, n in lost.most_common(3)]
    return notes


def _problem(g: Graded) -> dict[str, Any]:
    correct, n = g.count
    answers = Counter(m.answer for m in g.marks if m.answer is not None)
    return {
        "id": g.problem.id,
        "text_hash": text_hash(g.problem.text),
        "gold": g.problem.gold,
        "correct": correct,
        "n": n,
        "commonest_answer": answers.most_common(1)[0][0] if answers else None,
        "mean_tokens": fmean(s.tokens for s in g.samples) if g.samples else None,
        "truncated": sum(s.truncated for s in g.samples),
    }


# -- comparing -------------------------------------------------------------------------------------------------------


def compare(mine: Results, other: Results, name: str, *, seed: int = 0) -> Results:
    """Pass@k here minus Pass@k there, on the problems that both have, paired. Raises UserError where there are none."""
    theirs = {(p["id"], p["text_hash"]): p for p in other["per_problem"] if p["n"]}
    ours = {(p["id"], p["text_hash"]): p for p in mine["per_problem"] if p["n"]}
    if not theirs.keys() & ours.keys():  # other sets name their problems otherwise
        theirs, ours = ({("", key[1]): p for key, p in side.items()} for side in (theirs, ours))
    shared = [key for key in ours if key in theirs]
    if not shared:
        raise UserError(f"--compare {name}: no problem of it is in this evaluation")
    a = [(theirs[key]["correct"], theirs[key]["n"]) for key in shared]
    b = [(ours[key]["correct"], ours[key]["n"]) for key in shared]
    least = min(n for _, n in [*a, *b])
    ks = [p["k"] for p in mine["pass_at_k"] if p["k"] <= least]
    return {
        "with": name,
        "problems": len(shared),
        "left_out": len(ours) + len(theirs) - 2 * len(shared),
        "differences": [_as_json(p) for p in paired(a, b, ks, seed)],
        "better": sum(x[0] * y[1] < y[0] * x[1] for x, y in zip(a, b, strict=True)),
        "worse": sum(x[0] * y[1] > y[0] * x[1] for x, y in zip(a, b, strict=True)),
    }


def read_results(folder: Path) -> Results:
    """Another evaluation's results.json. Raises UserError."""
    file = folder / "results.json"
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        if {"per_problem", "pass_at_k"} <= set(found):
            return found
    except (OSError, ValueError, TypeError) as error:
        raise UserError(f"--compare {folder}: results.json cannot be read there ({type(error).__name__})") from error
    raise UserError(f"--compare {folder}: its results.json is no evaluation's")


# -- writing ---------------------------------------------------------------------------------------------------------


def write(folder: Path, found: Results, graded: Sequence[Graded]) -> None:
    """results.json and samples.parquet, each whole or not at all. Raises UserError."""
    rows = [_row(g.problem, s, m) for g in graded for s, m in zip(g.samples, g.marks, strict=True)]
    try:
        scratch = folder / ".samples.parquet.tmp"
        pq.write_table(pa.Table.from_pylist(rows, schema=_schema(rows)), scratch, compression="zstd")
        os.replace(scratch, folder / "samples.parquet")
        scratch = folder / ".results.json.tmp"
        scratch.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
        os.replace(scratch, folder / "results.json")
    except OSError as error:
        raise UserError(f"{folder} cannot be written: {error.strerror or error}") from error


def _row(problem: Problem, s: Sample, m: Mark) -> dict[str, Any]:
    return {
        "id": f"{problem.id}/{s.sample}",
        "problem": problem.id,
        "sample": s.sample,
        "prompt": problem.text,
        "completion": _storable(s.text),
        "gold": problem.gold,
        "answer": m.answer,
        "correct": m.correct,
        "reason": _storable(m.reason),
        "status": m.status,
        **{name: float(value) for name, value in m.parts.items()},
        "tokens": s.tokens,
        "truncated": s.truncated,
        "finish": s.finish,
        "seed": s.seed,
        "seconds": s.seconds,
        "prompt_hash": s.prompt,
        **({"requirements": json.dumps(problem.row["requirements"])} if "requirements" in problem.row else {}),
    }


def _schema(rows: Sequence[Mapping[str, Any]]) -> pa.Schema:
    kinds = {str: pa.string(), bool: pa.bool_(), int: pa.int64(), float: pa.float64()}
    named = {"answer": pa.string(), "correct": pa.bool_()}
    names = dict.fromkeys(name for row in rows for name in row)
    first = {name: next((row[name] for row in rows if row.get(name) is not None), "") for name in names}
    return pa.schema([(name, named.get(name) or kinds[type(first[name])]) for name in names])


def _storable(text: str) -> str:
    """UTF-8 has no lone surrogates."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


# -- the table -------------------------------------------------------------------------------------------------------


def table(found: Results) -> list[str]:
    """The figures for a terminal."""
    settings = found["settings"]
    rows = [("", "value", "95 %: other problems", "95 %: another run too")]
    rows += [
        (f"Pass@{p['k']}", percent(p["value"]), spread(p["by_problem"]), spread(p["two_level"]))
        for p in found["pass_at_k"]
    ]
    if (vote := found["majority"]) is not None:
        rows.append((f"maj@{vote['n']}", percent(vote["value"]), spread(vote["by_problem"]), ""))
    rows += [(p["words"], percent(p["value"]), spread(p["by_problem"]), "") for p in found["parts"].values()]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(f"{cell:<{w}}" for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]
    speed = f", {found['tokens_per_second']:,.0f} tokens a second" if found["tokens_per_second"] else ""
    no_answer = "" if found["no_answer"] is None else f"no answer {percent(found['no_answer'])}, "
    counts = f"{words.counted(found['problems'], 'problem')}, {words.counted(found['samples'], 'sample')}"
    return [
        f"{settings['data']}: {counts} of {settings['model']}",
        *lines,
        f"{no_answer}truncated {percent(found['truncated'])}, mean length {found['mean_tokens']:,.0f} tokens; "
        f"{found['seconds']:,.0f} s of sampling{speed}",
        *found["notes"],
        *compared(found),
    ]


def compared(found: Results) -> list[str]:
    """The paired differences in words; none where nothing was compared."""
    other = found.get("compare")
    if not other:
        return []
    lines = [f"against {other['with']}, on {words.counted(other['problems'], 'shared problem')}, paired:"]
    for p in other["differences"]:
        ends = f"{100 * p['two_level'][0]:+.1f} to {100 * p['two_level'][1]:+.1f}"
        lines.append(f"Pass@{p['k']}  {100 * p['value']:+.1f} points (95 % with sampling noise: {ends})")
    lines.append(f"better on {words.counted(other['better'], 'problem')}, worse on {other['worse']}")
    if left := other["left_out"]:
        lines.append(
            f"{words.counted(left, 'problem')} in one of the two alone {words.plural(left, 'is', 'are')} left out"
        )
    return lines


def percent(value: float) -> str:
    return f"{100 * value:.1f} %"


def spread(ends: Sequence[float]) -> str:
    return f"{100 * ends[0]:.1f} to {100 * ends[1]:.1f} %"
