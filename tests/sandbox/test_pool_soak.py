"""The soak benchmark, for minutes instead of hours."""

from __future__ import annotations

import importlib.util
import sys
from collections import Counter
from types import ModuleType

import pytest
from sandbox_helpers import REPO

from sandbox.outcome import Outcome, RequirementResult, Status
from sandbox.pool import Sandbox


@pytest.fixture(scope="module")
def soak() -> ModuleType:
    spec = importlib.util.spec_from_file_location("sandbox_soak", REPO / "benchmarks" / "sandbox_soak.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclasses look themselves up
    spec.loader.exec_module(module)
    return module


def test_a_tenth_of_the_components_are_hostile_all_differ_and_all_compile(soak: ModuleType) -> None:
    made = [soak.made(n, 0.1) for n in range(4000)]
    kinds = Counter(each.kind for each in made)
    assert kinds["honest"] == 3600
    assert set(kinds) == {"honest", *(kind for kind, _, _ in soak._HOSTILE)}
    assert len({each.item.key for each in made}) == len(made)
    assert soak.made(17, 0.1) == made[17]
    with Sandbox(render=False) as sandbox:
        assert {o.status for o in sandbox.run([each.item for each in made[:400]])} == {Status.OK}


def test_a_swapped_and_a_bad_outcome_are_seen(soak: ModuleType) -> None:
    one, other = soak.made(1, 0.1), soak.made(2, 0.1)
    good = Outcome(Status.OK, code=one.item.text, requirements=(RequirementResult(True),))
    assert soak.wrong(one, good) is None
    assert soak.wrong(other, good) == "the code of another one"
    assert "not on" in soak.wrong(
        one, Outcome(Status.OK, one.item.text, requirements=(RequirementResult(False, "not on"),))
    )
    assert "blank" in soak.wrong(one, Outcome(Status.BLANK, one.item.text))


@pytest.mark.browser
@pytest.mark.slow
def test_sixty_components_leave_nothing_behind(soak: ModuleType) -> None:
    report = soak.soak(60, 2, 0.2)
    assert report.n == report.again == 60
    assert report.faults() == []
