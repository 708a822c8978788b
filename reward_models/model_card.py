"""The README.md of a learned reward model: data, settings, what it is worth on held-out problems, and its limits."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import yaml

from reward_models.quality import Finding, Interval, Quality
from reward_models.token_labels import Labelled, token_counts
from reward_models.training import Trained, TrainSettings
from sandbox.words import counted, plural

_TEXT = """\
# {title}

A token classifier on {model}: how likely each token, and each step, of a completion is wrong. Made by
`bot-grpo train-reward`.

```bash
bot-grpo score --reward learned --args '{{"model": "{folder}"}}' --input replies.jsonl --html scores.html
```

```yaml
rewards: # of a run's config
  - {{model: learned, args: {{model: "{folder}"}}, role: local}}
```

## Data

{sources}

| | problems | completions | with a mistake | tokens labelled | of them wrong |
|---|---|---|---|---|---|
{rows}

No problem is in both. {labels} {cut} Steps are parted by `{split}`.

## Training

{steps} steps in {seconds:.0f} s, mean loss {loss:.3f}. The loss weighs wrong and right tokens alike, {weight:.1f} to 1;
the {shift:.2f} that this adds to the log-odds is taken off before they are probabilities.

```yaml
{settings}```

## On the held-out problems

| | labelled | wrong | AUC | NLL | ECE | temperature | NLL after | ECE after |
|---|---|---|---|---|---|---|---|---|
{quality}

{finding}

AUC: the chance that something wrong scores above something right. ECE: 15 bins of equal width. "After" is with the
temperature that the other half of the held-out problems gave; what is saved is fitted to all of them. Brackets: 95 %
intervals, from a bootstrap of problems.

## Limits

* It says what its labels say, and knows texts of their kind. A policy that is trained against it will find what it
  mistakes for right: put an outcome beside it, and measure it again on what the policy writes later.
* {left}
* A mistake that shows only later in the text is found where it shows, if at all.

## Versions

{versions}
"""


def model_card(
    trained: Trained,
    settings: TrainSettings,
    *,
    folder: str,
    sources: Sequence[str],
    versions: Mapping[str, str | None],
) -> str:
    """Markdown, with the front matter of a model hub. `folder`: where the model lies; `sources`: lines on its data."""
    data = trained.data
    first = settings.labels == "first"
    front = {
        "library_name": "transformers",
        "pipeline_tag": "token-classification",
        "base_model": settings.model,
        "tags": ["process-reward-model"],
    }
    were = f"{counted(data.cut, 'completion')} {plural(data.cut, 'was', 'were')}"
    cut = f"{were} cut off at {trained.settings.max_tokens} tokens, {data.dropped} had no label."
    return f"---\n{yaml.safe_dump(front, sort_keys=False)}---\n\n" + _TEXT.format(
        title=folder.rstrip("/").rsplit("/", 1)[-1],
        model=settings.model,
        folder=folder,
        sources="\n".join(f"* {line}" for line in sources),
        rows="\n".join(_row(name, rows) for name, rows in (("train", data.train), ("held out", data.held_out))),
        labels="What follows the first mistake of a completion has no label." if first else "Every mark counts.",
        cut=cut,
        split=repr(data.split)[1:-1],
        steps=trained.steps,
        seconds=trained.seconds,
        loss=trained.loss,
        weight=math.exp(data.shift),
        shift=data.shift,
        settings=yaml.safe_dump(asdict(settings), sort_keys=False),
        quality="\n".join(_quality(*pair) for pair in (("tokens", trained.tokens), ("steps", trained.step))),
        finding=finding_text(trained.finding),
        left="What stands after a mistake was never learned from: there a score means little."
        if first
        else "Marks after a mistake were learned from as they were given.",
        versions="\n".join(f"* {name} {version}" for name, version in versions.items() if version),
    )


def _row(name: str, rows: Sequence[Labelled]) -> str:
    wrong, right = token_counts(rows)
    cells = [len({row.problem for row in rows}), len(rows), sum(0 in row.token_labels for row in rows), wrong + right]
    return f"| {name} | {' | '.join(f'{n:,}' for n in [*cells, wrong])} |"


def _quality(name: str, quality: Quality | None) -> str:
    if quality is None:
        return f"| {name} | 0 |" + " |" * 7
    q = quality
    score = "not both labels occur" if q.auc is None else f"{q.auc:.3f}{_brackets(q.auc_interval)}"
    numbers = f"{q.nll:.4f} | {q.ece:.4f} | {q.temperature:.2f} | {q.nll_after:.4f} | {q.ece_after:.4f}"
    return f"| {name} | {q.count:,} | {q.wrong:,} | {score} | {numbers} |"


def finding_text(found: Finding | None) -> str:
    """One paragraph on how often the model's finger is on the first mistake."""
    if found is None:
        return "No held-out completion has a wrong step."
    f = found
    place = f"number {f.place}" if f.place > 0 else "the last" if f.place == -1 else f"number {-f.place} from the end"
    return (
        f"In the {f.texts} held-out completions with a mistake, the step that most likely has the first one does "
        f"in {_percent(f.hit)}{_brackets(f.hit_interval, 100, 0)}, and the step with the lowest p in "
        f"{_percent(f.alone)}{_brackets(f.alone_interval, 100, 0)}; a step drawn at random is in {_percent(f.random)} "
        f"(margin {_points(f.hit - f.random)}{_brackets(f.margin_random, 100, 0)}), and the best fixed place, {place}, "
        f"in {_percent(f.fixed)} (margin {_points(f.hit - f.fixed)}{_brackets(f.margin_fixed, 100, 0)})."
    )


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _points(share: float) -> str:
    return f"{100 * share:+.0f} points"


def _brackets(interval: Interval, scale: float = 1.0, digits: int = 3) -> str:
    return f" [{', '.join(f'{scale * x:.{digits}f}' for x in interval)}]" if interval is not None else ""


def summary(trained: Trained) -> dict[str, Any]:
    """The numbers of the card, as plain values for metrics.json."""
    return {
        "steps": trained.steps,
        "seconds": trained.seconds,
        "loss": trained.loss,
        "tokens": None if trained.tokens is None else asdict(trained.tokens),
        "step": None if trained.step is None else asdict(trained.step),
        "finding": None if trained.finding is None else asdict(trained.finding),
    }
