"""From samples on disk to figures: what `bot-grpo eval` ends with and `bot-grpo regrade` does alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from bot_grpo.eval_page import write_eval_page
from bot_grpo.eval_progress import EvalProgress
from bot_grpo.eval_results import Graded, Results, compare, read_results, results, together, write
from bot_grpo.eval_tasks import EvalTask, Mark
from bot_grpo.evaluate import EvalDir, Problem, Sample

_CHUNK = 32  # graded before the next are told


def graded(task: EvalTask, problems: Sequence[Problem], samples: Sequence[Sample]) -> list[Mark]:
    """A mark for each sample; with progress where that takes time."""
    by_id = {problem.id: problem for problem in problems}
    if task.quick:
        return task.grade([(by_id[s.problem], s) for s in samples])
    out: list[Mark] = []
    rates = [name for name in task.parts if name != "requirements"]
    with EvalProgress(len(samples), "components judged", rates) as progress:
        for at in range(0, len(samples), _CHUNK):
            chunk = samples[at : at + _CHUNK]
            marks = task.grade([(by_id[s.problem], s) for s in chunk])
            progress.add(chunk, marks)
            out += marks
    return out


def finish(
    run: EvalDir,
    task: EvalTask,
    problems: Sequence[Problem],
    samples: Sequence[Sample],
    *,
    ks: Sequence[int] | None,
    seed: int = 0,
    compare_with: Path | None = None,
) -> tuple[Results, list[Graded]]:
    """Grade, count, compare, and write results.json, samples.parquet and report.html."""
    other = read_results(compare_with) if compare_with is not None else None
    marks = graded(task, problems, samples)
    by_problem = together(problems, list(zip(samples, marks, strict=True)))
    found = results(task, by_problem, run.config(), ks, seed=seed)
    if other is not None:
        found["compare"] = compare(found, other, str(compare_with), seed=seed)
    write(run.path, found, by_problem)
    write_eval_page(run.path / "report.html", found, by_problem, title=run.path.resolve().name)
    return found, by_problem


def changed(run: EvalDir, by_problem: Sequence[Graded], before: Mapping[tuple[str, int], bool | None]) -> list[str]:
    """Which verdicts are others than before, one line each."""
    lines = []
    for g in by_problem:
        for sample, mark in zip(g.samples, g.marks, strict=True):
            if sample.key in before and before[sample.key] is not mark.correct:
                words = {True: "right", False: "wrong", None: "not graded"}
                was, now = words[before[sample.key]], words[mark.correct]
                why = f" ({mark.reason})" if mark.reason else ""
                lines.append(f"{g.problem.id}, sample {sample.sample}: was {was}, is {now}{why}")
    return lines
