"""What every reward model has to keep to, as checks: for pytest (subclass `RewardModelContract`) and for a command.

class TestVowels(RewardModelContract):
    def make_model(self):
        return Vowels(weight=0.5)
"""

from __future__ import annotations

import copy
import random
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from reward_models.base import RewardSignal, Rollout, TokenRewardModel, Unscored
from reward_models.functions import as_model
from reward_models.scoring import answers_of, checked, said
from sandbox.errors import SetupError
from sandbox.words import counted, plural

Samples = Mapping[str, Rollout]
Encoded = tuple[str, tuple[int, ...], tuple[tuple[int, int], ...]]
"""A text, its token ids and their char spans, which tile it."""

UNSCORED = "not one of the samples could be scored"
TOLERANCE = 1e-3
"""How far two scores of the same rollout may lie apart: a model that pads its batches adds up in another order."""
SLOW_S = 10.0
"""Seconds that a thousand tokens may take."""

_CODE = """Here it is:

```jsx
export default function App() {
  const [count, setCount] = useState(0);

  return <button onClick={() => setCount(count + 1)}>{count}</button>;
}
```

And in Python: `x = [1, 2]`.
```python
for x in range(3):
\tprint(x)
```"""
_STEPS = """<step>There are 3 boxes of 4 pens, so 3 * 4 = 12 pens.</step>
<step>Half of them are red: 12 / 2 = 6.</step>

<step>So 12 - 6 = 7 are not.</step>
(step 4) That leaves seven.
(final) \\boxed{7}"""

TEXTS = {
    "empty": "",
    "one character": "x",
    "emoji, CJK and combining marks": "👩‍👩‍👧 数学は楽しい, e\u0301tude naïve 😀😀\nx² ≤ ∞",
    "CRLF line ends": "first line\r\n\r\nsecond = 2\r\nlast\r\n",
    "4,000 characters": " ".join(
        f"Line {i} says that {i} + {i} = {i + i}.{chr(10) * (i % 4 == 0)}" for i in range(115)
    )[:4000],
    "code in fences": _CODE,
    "steps": _STEPS,
    "cut off": "const total = items.reduce((sum, item) => sum + item.pri",
}
"""The completions that every model is asked about; the last one was cut off."""


@dataclass(frozen=True)
class Finding:
    """Something wrong: with which sample ("" for none alone), in plain words."""

    check: str
    where: str
    problem: str

    def __str__(self) -> str:
        return f"{self.where}: {self.problem}" if self.where else self.problem


def pretend_tokens(text: str) -> Encoded:
    """The text in made-up tokens, where no tokenizer is at hand: pieces of up to four letters with the white space
    before them; a character outside of ASCII takes as many as UTF-8 has bytes, of which the last one completes it."""
    ids: list[int] = []
    spans: list[tuple[int, int]] = []
    for m in re.finditer(r"\s?[A-Za-z0-9_]{1,4}|[\x00-\x7f]|[^\x00-\x7f]", text):
        for _ in range(len(m[0].encode("utf-8", "replace")) - 1 if not m[0].isascii() else 0):
            ids.append(crc32(f"{len(ids)}".encode()) % 50_000)
            spans.append((m.start(), m.start()))
        ids.append(crc32(m[0].encode("utf-8", "replace")) % 50_000)
        spans.append(m.span())
    return text, tuple(ids), tuple(spans)


def sample_rollouts(
    encode: Callable[[str], Encoded] = pretend_tokens, *, prompt: str = "What is 2 + 2?", row: Mapping[str, Any] = {}
) -> dict[str, Rollout]:
    """Rollouts of `TEXTS`, by what is special about them, for a prompt and its row."""
    rollouts = {}
    for name, text in TEXTS.items():
        rollouts[name] = Rollout(prompt, *encode(text), row=dict(row), truncated=name == "cut off")
    return rollouts


# -- the checks: each takes a model and samples, and returns what is wrong ---------------------------------------------


def alone(model: TokenRewardModel, samples: Samples) -> list[Finding]:
    """Each sample by itself: it does not raise, and the answer keeps to what is declared."""
    return [Finding("alone", name, problem) for name, r in samples.items() if (problem := _problem(model, r))]


def _problem(model: TokenRewardModel, rollout: Rollout) -> str:
    try:
        (signal,) = _answers(model, [rollout])
    except AskError as error:
        return str(error)
    except SetupError:
        raise
    except Exception as error:  # whatever a model raises
        return f"it raised {said(error)}"
    try:
        if signal is not None:
            checked(model, rollout, signal)
    except ValueError as error:
        return str(error)
    return ""


def consistent(model: TokenRewardModel, samples: Samples) -> list[Finding]:
    """Something is scored at all; and either every signal has an outcome or none."""
    answers = [a for a in _answers(model, list(samples.values())) if a is not None]
    if not answers:
        asked = answers_of(model, list(samples.values()))
        reason = next((a.reason for a in asked if isinstance(a, Unscored) and a.reason), "")
        return [Finding("consistent", "", UNSCORED + (f": {reason}" if reason else ""))]
    missing = sum(a.outcome is None for a in answers)
    if 0 < missing < len(answers):
        without = f"{missing} of {len(answers)} signals {plural(missing, 'has', 'have')} no outcome"
        return [Finding("consistent", "", f"{without}, the others have one")]
    return []


def batch(model: TokenRewardModel, samples: Samples, tolerance: float = TOLERANCE) -> list[Finding]:
    """A rollout's score does not depend on what else is in its batch."""
    single = [_scores(model, [r])[0] for r in samples.values()]
    together = _scores(model, list(samples.values()))
    return _differences("batch", samples, single, together, ("alone", "in a batch"), tolerance)


def order(model: TokenRewardModel, samples: Samples, tolerance: float = TOLERANCE) -> list[Finding]:
    """A rollout's score does not depend on its place in the batch."""
    names = list(samples)
    together = dict(zip(names, _scores(model, list(samples.values())), strict=True))
    for shuffled in (names[::-1], random.Random(0).sample(names, len(names))):
        again = dict(zip(shuffled, _scores(model, [samples[n] for n in shuffled]), strict=True))
        moved = [again[n] for n in names]
        found = _differences("order", samples, list(together.values()), moved, ("in order", "shuffled"), tolerance)
        if found:
            return found
    return []


def repeated(model: TokenRewardModel, samples: Samples, tolerance: float = TOLERANCE) -> list[Finding]:
    """The same batch gets the same scores again."""
    first, *more = [_scores(model, list(samples.values())) for _ in range(3)]
    both = "the first time", "another time"
    found = (_differences("repeated", samples, first, again, both, tolerance) for again in more)
    return next((each for each in found if each), [])


def inputs(model: TokenRewardModel, samples: Samples) -> list[Finding]:
    """The model changes neither the list that it gets nor the rows."""
    given, before = ([_copy(r) for r in samples.values()] for _ in range(2))
    passed = list(given)
    answers_of(model, passed)
    found = []
    if len(passed) != len(given) or any(a is not b for a, b in zip(passed, given, strict=True)):
        found.append(Finding("inputs", "", "it changes the list of rollouts that it is given"))
    changed = [name for name, a, b in zip(samples, given, before, strict=True) if a != b]
    if changed:
        found.append(Finding("inputs", changed[0], "it changes the rollout's row"))
    return found


def prompt(model: TokenRewardModel, samples: Samples) -> list[Finding]:
    """Spans count from the start of the completion: a longer prompt moves none of them."""
    extra = "Please. "
    longer = [replace(r, prompt=extra + r.prompt) for r in samples.values()]
    plain, moved = _answers(model, list(samples.values())), _answers(model, longer)
    for name, a, b in zip(samples, plain, moved, strict=True):
        if a is not None and b is not None and a.spans and len(a.spans) == len(b.spans):
            shifts = {y[0] - x[0] for x, y in zip(a.spans, b.spans, strict=True)}
            if shifts == {len(extra)}:
                problem = "its spans move with the prompt's length: they have to count from the completion's start"
                return [Finding("prompt", name, problem)]
    return []


def seconds_a_thousand_tokens(model: TokenRewardModel, samples: Samples) -> float:
    """How long the longest sample takes, by a thousand tokens."""
    longest = max(samples.values(), key=lambda r: len(r.token_ids))
    start = time.perf_counter()
    answers_of(model, [longest])
    return (time.perf_counter() - start) / max(1, len(longest.token_ids)) * 1000


def speed(model: TokenRewardModel, samples: Samples, slow_s: float = SLOW_S) -> list[Finding]:
    """A thousand tokens do not take longer than `slow_s` seconds."""
    seconds = seconds_a_thousand_tokens(model, samples)
    return [Finding("speed", "", f"a thousand tokens take {seconds:.1f} s")] if seconds > slow_s else []


CHECKS: Mapping[str, tuple[Callable[..., list[Finding]], str]] = {
    "alone": (alone, "each sample by itself"),
    "consistent": (consistent, "all samples have scores of one kind"),
    "batch": (batch, "the same score alone and in a batch"),
    "order": (order, "the same score at any place in a batch"),
    "repeated": (repeated, "the same score every time"),
    "inputs": (inputs, "what is passed in stays as it is"),
    "prompt": (prompt, "spans count from the completion's start"),
    "speed": (speed, "fast enough"),
}
"""The checks with what a model that passes them does, in the order to make them."""

_TOLERANT = frozenset({"batch", "order", "repeated"})


def run_check(model: Any, name: str, samples: Samples, tolerance: float, slow_s: float) -> list[Finding]:
    """One check of `CHECKS`. What the model raises is a finding, but for a missing tool (SetupError)."""
    check, _ = CHECKS[name]
    samples = {where: _copy(r) for where, r in samples.items()}  # a model that writes into rows spoils its own alone
    setting = (tolerance,) if name in _TOLERANT else (slow_s,) if name == "speed" else ()
    try:
        return check(model, samples, *setting)
    except SetupError:
        raise
    except Exception as error:  # whatever a model raises
        return [Finding(name, "", str(error) if isinstance(error, AskError) else f"it raised {said(error)}")]


# -- for pytest -------------------------------------------------------------------------------------------------------


class RewardModelContract:
    """Subclass it in a test file, name the class Test..., and write `make_model`; pytest does the rest.

    `samples` may be extended, for a model that needs fields of a row. The model is made once.
    """

    tolerance = TOLERANCE
    slow_s = SLOW_S

    def make_model(self) -> Any:
        """The reward model, or a reward function of TRL's kind."""
        raise NotImplementedError("write make_model: it returns the reward model to check")

    def samples(self) -> Samples:
        """What the model is asked about, by names for messages."""
        return sample_rollouts()

    def test_alone(self) -> None:
        self._passes("alone")

    def test_consistent(self) -> None:
        self._passes("consistent")

    def test_batch(self) -> None:
        self._passes("batch")

    def test_order(self) -> None:
        self._passes("order")

    def test_repeated(self) -> None:
        self._passes("repeated")

    def test_inputs(self) -> None:
        self._passes("inputs")

    def test_prompt(self) -> None:
        self._passes("prompt")

    def test_speed(self) -> None:
        self._passes("speed")

    def _passes(self, name: str) -> None:
        cls = type(self)
        if "_made" not in vars(cls):
            cls._made = as_model(self.make_model())
        found = run_check(cls._made, name, self.samples(), self.tolerance, self.slow_s)
        assert not found, "\n".join(map(str, found))

    _made: Any


# -- what the checks share --------------------------------------------------------------------------------------------

Scores = tuple[float | None, NDArray[np.float64]]
"""G and S_t of one rollout; None and zeros where there is none."""


class AskError(Exception):
    """What the model gives for a batch cannot be used at all."""


def _copy(rollout: Rollout) -> Rollout:
    return replace(rollout, row=copy.deepcopy(dict(rollout.row)))


def _answers(model: TokenRewardModel, rollouts: Sequence[Rollout]) -> list[RewardSignal | None]:
    """One signal a rollout, None for what is unscored."""
    answers = answers_of(model, list(rollouts))
    if len(answers) != len(rollouts):
        raise AskError(f"it gave {counted(len(answers), 'signal')} for {counted(len(rollouts), 'rollout')}")
    strange = [a for a in answers if not (a is None or isinstance(a, RewardSignal | Unscored))]
    if strange:
        raise AskError(f"it gave {type(strange[0]).__name__}, not a RewardSignal")
    return [a if isinstance(a, RewardSignal) else None for a in answers]


def _scores(model: TokenRewardModel, rollouts: Sequence[Rollout]) -> list[Scores]:
    scores: list[Scores] = []
    for rollout, signal in zip(rollouts, _answers(model, rollouts), strict=True):
        try:
            good, local_T = checked(model, rollout, signal) if signal is not None else (None, np.zeros(0))
        except ValueError:  # `alone` tells of it
            good, local_T = None, np.zeros(0)
        scores.append((good.outcome if good is not None else None, local_T))
    return scores


def _differences(
    check: str,
    names: Iterable[str],
    first: Sequence[Scores],
    second: Sequence[Scores],
    when: tuple[str, str],
    tolerance: float,
) -> list[Finding]:
    found = []
    for name, (g, s), (other_g, other_s) in zip(names, first, second, strict=True):
        if (g is None) != (other_g is None) or len(s) != len(other_s):
            found.append(Finding(check, name, f"scored {when[0] if len(s) or g is not None else when[1]} only"))
        elif g is not None and other_g is not None and abs(g - other_g) > tolerance:
            found.append(Finding(check, name, f"G is {g:.6g} {when[0]} and {other_g:.6g} {when[1]}"))
        elif (gap := np.abs(s - other_s)).max(initial=0.0) > tolerance:
            at = int(gap.argmax())
            found.append(Finding(check, name, f"token {at} has {s[at]:.6g} {when[0]} and {other_s[at]:.6g} {when[1]}"))
    return found
