"""Math-Verify in its child: what is the same, and what happens to a child that does not come to an end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("math_verify", reason="needs the extra `maths`")

from tasks import equivalence
from tasks.equivalence import MathVerify, Same
from tasks.errors import TaskError

ENDLESS = "9^{9^{9}}"


@pytest.fixture(scope="module")
def verifier() -> Iterator[MathVerify]:
    with MathVerify(timeout_s=60) as verifier:
        yield verifier


@pytest.mark.parametrize(
    ("answer", "gold"),
    [
        ("\\frac{1}{3}", "1/3"),
        ("0.5", "\\frac12"),
        ("2\\sqrt{2}", "\\sqrt{8}"),
        ("x^2 + 2x + 1", "(x+1)^2"),
        ("\\{2, 1\\}", "\\{1, 2\\}"),
        ("x = 3", "3"),
        ("[0, 1)", "[0,1)"),
    ],
)
def test_the_same(verifier: MathVerify, answer: str, gold: str) -> None:
    assert verifier.compare(answer, gold) == Same(True, "right")
    assert verifier.grade(f"<think>hm</think> So \\boxed{{{answer}}}", gold).same


@pytest.mark.parametrize(("answer", "gold"), [("1/3", "1/2"), ("hello", "3"), ("(1, 2)", "(2, 1)"), ("", "3")])
def test_not_the_same(verifier: MathVerify, answer: str, gold: str) -> None:
    assert verifier.compare(answer, gold).same is False


def test_the_final_answer_is_what_grade_compares(verifier: MathVerify) -> None:
    assert verifier.grade("\\boxed{1/2} no \\boxed{1/3}", "1/2") == Same(False, "another answer")
    assert verifier.grade("\\boxed{1/2", "1/2") == Same(False, "an unclosed box")
    assert verifier.grade("\\boxed{1/2}", "1/2", truncated=True) == Same(False, "truncated")
    assert verifier.compare("x" * 5000, "1/2") == Same(False, "too long for an answer")


def test_a_child_that_is_late_is_killed_and_the_next_question_gets_a_new_one() -> None:
    with MathVerify(timeout_s=60) as verifier:
        assert verifier.compare("1/2", "0.5").same
        process, verifier._timeout_s = verifier._process, 0.5
        assert process is not None
        start = time.monotonic()
        found = verifier.compare(ENDLESS, "3")
        assert found == Same(None, "Math-Verify took over 0.5 s, and was ended")
        assert time.monotonic() - start < 30
        assert process.poll() is not None
        verifier._timeout_s = 60
        assert verifier.compare("1/2", "0.5").same


def test_a_child_that_died_costs_one_question() -> None:
    with MathVerify(timeout_s=60) as verifier:
        assert verifier.compare("1/2", "0.5").same
        assert verifier._process is not None
        os.kill(verifier._process.pid, signal.SIGKILL)
        verifier._process.wait()
        found = verifier.compare("1/2", "0.5")
        assert found.same is None
        assert "ended its process" in found.reason
        assert verifier.compare("1/2", "0.5").same


@pytest.mark.slow
def test_a_child_whose_parent_was_killed_ends_by_itself() -> None:
    script = (
        "import threading, time; from tasks.equivalence import MathVerify\n"
        "verifier = MathVerify(timeout_s=2)\n"
        "verifier.compare('1', '1'); print(verifier._process.pid, flush=True)\n"
        f"verifier._timeout_s = 600; verifier.compare({ENDLESS!r}, '3')"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        time.sleep(1)
        parent.kill()
    deadline = time.monotonic() + 60
    while Path(f"/proc/{child}/stat").exists() and time.monotonic() < deadline:
        if Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
            break
        time.sleep(0.2)
    else:
        assert time.monotonic() < deadline, "the child still runs"


def test_without_math_verify_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(equivalence.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(TaskError, match=r"pip install 'bot-grpo\[maths\]'"):
        MathVerify()
