"""Reward models by name: what can be named, and what is said of a name that leads nowhere."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import plugins
import pytest
from pieces import rollout

from reward_models import loading
from reward_models.errors import RewardError
from reward_models.loading import load_reward
from reward_models.scoring import score

HERE = Path(__file__).parent


def outcomes(model: Any, *texts: str, **row: Any) -> list[float | None]:
    return [None if s.signal is None else s.signal.outcome for s in score(model, [rollout(t, **row) for t in texts])]


def test_a_class_is_called_with_its_arguments() -> None:
    model = load_reward("plugins:Vowels", weight=-0.25)
    assert model.bound == 0.25
    assert outcomes(model, "ab", "b") == [0.5, 0.0]


def test_a_name_in_a_file() -> None:
    model = load_reward(f"{HERE}/plugins.py:Vowels", letters="b")
    assert outcomes(model, "abb") == [pytest.approx(2 / 3)]


def test_a_file_imports_what_lies_beside_it(tmp_path: Path) -> None:
    (tmp_path / "beside_it.py").write_text("WEIGHT = 0.125\n")
    (tmp_path / "mine.py").write_text(
        "from dataclasses import dataclass\nfrom beside_it import WEIGHT\n"
        "@dataclass\nclass Mine:\n    bound: float = WEIGHT\n    def score(self, rollouts):\n        return []\n"
    )
    assert load_reward(f"{tmp_path}/mine.py:Mine").bound == 0.125


def test_a_module_in_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever started Python: a console script has no current folder on its path."""
    monkeypatch.setattr("sys.path", [p for p in __import__("sys").path if p not in ("", str(tmp_path))])
    (tmp_path / "lies_here.py").write_text("class Mine:\n    bound = 1.0\n    def score(self, rollouts): return []\n")
    monkeypatch.chdir(tmp_path)
    assert load_reward("lies_here:Mine").bound == 1.0


def test_a_factory_and_an_object() -> None:
    assert load_reward("plugins:make_vowels", weight=2.0).bound == 2.0
    assert load_reward("plugins:ready") is plugins.ready
    assert load_reward("plugins:ready.score.__self__") is plugins.ready


def test_a_file_that_ends_python(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text("class Mine:\n    pass\nraise SystemExit(0)\n")
    with pytest.raises(RewardError, match=r"script.py cannot be run: SystemExit: 0 \(script.py:3\)"):
        load_reward(f"{tmp_path}/script.py:Mine")


def test_an_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("vowels", "plugins:Vowels", loading.GROUP)
    broken = EntryPoint("broken", "no_such_module:X", loading.GROUP)
    monkeypatch.setattr(loading, "entry_points", lambda group: [point, broken] if group == loading.GROUP else [])
    assert load_reward("vowels", weight=3.0).bound == 3.0
    with pytest.raises(RewardError, match="did you mean 'vowels'"):
        load_reward("vowel")
    with pytest.raises(RewardError, match=r"'broken' \(no_such_module:X\) cannot be loaded"):
        load_reward("broken")


@pytest.mark.parametrize("name", loading.BUILT_IN)
def test_every_built_in_name_leads_somewhere(name: str) -> None:
    assert callable(loading.find(name))


BAD = [
    ("lexica", {}, "did you mean 'lexical'"),
    ("nothing_like_it", {}, "module:attribute or path/to/file.py:Name"),
    ("plugins:Vowel", {}, "plugins has no 'Vowel'; did you mean 'Vowels'"),
    ("plugins:Vowel", {}, "ready"),
    ("no_such_module:X", {}, "cannot import no_such_module: ModuleNotFoundError"),
    ("nowhere/mine.py:X", {}, "there is no file nowhere/mine.py"),
    (f"{HERE}/plugins.py", {}, "plugins.py:NAME; there are: AsyncVowels"),
    (f"{HERE}/plugins.py:Vowel", {}, "did you mean 'Vowels'"),
    ("plugins:Vowels", {"wieght": 1}, "has no argument 'wieght'; did you mean 'weight'?; it takes: weight, letters"),
    ("plugins:make_vowels", {}, "needs the argument weight"),
    ("plugins:ready", {"weight": 1}, "takes no arguments"),
    ("plugins:number", {}, "is int, which has no method `score`"),
    ("plugins:broken_factory", {}, "cannot be made: OSError: no such checkpoint (plugins.py:"),
    ("plugins:Vowels", {"weight": "much"}, "cannot be made: TypeError"),
]


@pytest.mark.parametrize(("name", "arguments", "says"), BAD)
def test_what_is_wrong_is_said_in_one_line(name: str, arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(RewardError) as raised:
        load_reward(name, **arguments)
    assert says in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_file_that_cannot_be_run_says_where(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("x = 1\ny = 1 / 0\n")
    with pytest.raises(RewardError, match=r"ZeroDivisionError: division by zero \(mine.py:2\)"):
        load_reward(f"{tmp_path}/mine.py:X")
    (tmp_path / "mine.py").write_text("x = 1\ndef f(:\n")
    with pytest.raises(RewardError, match=r"SyntaxError: invalid syntax \(mine.py:2\)"):
        load_reward(f"{tmp_path}/mine.py:X")
    (tmp_path / "beside.py").write_text("\n\nif True\n    pass\n")
    (tmp_path / "mine.py").write_text("import beside\n")
    with pytest.raises(RewardError, match=r"SyntaxError: expected ':' \(beside.py:3\)"):
        load_reward(f"{tmp_path}/mine.py:X")


@pytest.mark.parametrize(
    ("name", "arguments"), [("no_such_module:X", {}), ("plugins:Vowels", {"weight": "much"}), ("text.py:X", {})]
)
def test_our_own_lines_are_never_named(
    name: str, arguments: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.py").write_bytes(b"x = '\0'\n")
    with pytest.raises(RewardError) as raised:
        load_reward(name, **arguments)
    assert "loading.py" not in str(raised.value)


# -- TRL's reward functions -------------------------------------------------------------------------------------------


def test_a_reward_function_that_reads_text() -> None:
    model = load_reward("plugins:length_reward")
    assert outcomes(model, "abc", "") == [3.0, 0.0]
    assert model.bound == 0.0


@pytest.mark.parametrize("name", ["plugins:chat_reward", "plugins:async_reward"])
def test_a_reward_function_that_reads_messages(name: str) -> None:
    assert outcomes(load_reward(name), "abc", "", "de") == [3.0, 0.0, 2.0]


def test_trls_own_reward_functions() -> None:
    assert outcomes(load_reward("trl.rewards:think_format_reward"), "<think>a</think>b", "b") == [1.0, 0.0]
    overlong = load_reward("trl.rewards:get_soft_overlong_punishment", max_completion_len=4, soft_punish_cache=2)
    assert outcomes(overlong, "a", "a b c d e f") == [0.0, -1.0]


def test_a_reward_function_gets_the_columns_that_it_names_and_its_arguments() -> None:
    model = load_reward("plugins:solved", bonus=0.5)
    assert outcomes(model, "it is 7", "?", "8", solution="7", other=1) == [1.5, None, 0.5]
    (one,) = score(model, [rollout("7", answer="7")])
    assert one.reason.startswith("solved raised ValueError: it wants the column solution; the rows have: answer")


def test_a_function_of_text_is_never_given_messages_by_mistake() -> None:
    """`3 in messages` would be a quiet False."""
    (one,) = score(load_reward("plugins:solved"), [rollout("3", solution=3)])
    assert "requires string as left operand" in one.reason


def test_an_error_of_the_functions_own_is_the_one_that_is_told() -> None:
    (one,) = score(load_reward("plugins:buggy_reward"), [rollout("a")])
    assert "KeyError: 'my own bug'" in one.reason
