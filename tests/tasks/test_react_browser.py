"""The grader accepts the gold answer of a row, and not that of another row."""

from collections.abc import Sequence

import pytest

from sandbox.outcome import Outcome, Status
from sandbox.pool import Item, Sandbox
from tasks.react import ReactRow, load_react

pytestmark = [pytest.mark.browser, pytest.mark.timeout(900)]

ROWS = load_react(tier=None, split=None)


def firsts(tier: str | None = None) -> list[ReactRow]:
    """One row of every family."""
    by_family = {row.id[:-4]: row for row in reversed(ROWS) if tier in (None, row.tier)}
    return list(by_family.values())


def judge(pairs: Sequence[tuple[str, ReactRow]]) -> list[Outcome]:
    with Sandbox(workers=1, timeout_s=30) as sandbox:
        return sandbox.run(
            [Item(text=code, kind="code", language="jsx", requirements=row.requirements) for code, row in pairs]
        )


def accepts(rows: Sequence[ReactRow]) -> list[str]:
    """What is wrong with the references of `rows`."""
    outcomes = judge([(row.reference or "", row) for row in rows])
    return [
        f"{row.id}: {outcome.status} {outcome.diagnostics} {[r.reason for r in outcome.requirements if not r.met]}"
        for row, outcome in zip(rows, outcomes, strict=True)
        if outcome.status is not Status.OK or outcome.diagnostics or outcome.requirements_met < 1
    ]


def test_one_reference_of_every_family_meets_all_its_requirements():
    assert accepts(firsts()) == []


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("tier", ["tiny", "parts", "standard", "app"])
def test_every_reference_meets_all_its_requirements(tier):
    assert accepts([row for row in ROWS if row.tier == tier]) == []


def test_the_answer_to_another_prompt_of_the_family_does_not_pass():
    wrong = [
        (row.reference or "", other) for row in firsts("tiny") for other in ROWS if other.id == row.id[:-3] + "002"
    ]
    outcomes = judge(wrong)
    assert [o.status for o in outcomes] == [Status.OK] * len(wrong)
    assert max(o.requirements_met for o in outcomes) <= 0.6
    assert sum(o.requirements_met for o in outcomes) / len(wrong) < 0.25


def test_repeating_the_prompt_on_the_page_earns_little_where_something_must_be_clicked():
    rows = [row for row in firsts("tiny") if any(r["check"] in ("click", "type") for r in row.requirements)]
    echoes = [(f"export default function Echo() {{ return <p>{{{row.prompt!r}}}</p>; }}", row) for row in rows]
    outcomes = judge(echoes)
    assert [o.status for o in outcomes] == [Status.OK] * len(rows)
    assert max(o.requirements_met for o in outcomes) <= 0.5
