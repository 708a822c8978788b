"""The audit: its changes are what they say, its statistics are right, and a reward gets the verdicts it deserves."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from reward_models import audit_code
from reward_models.arithmetic import ArithmeticReward
from reward_models.audit import CRITERIA, Audit, Criterion, Limits, Sample, audit
from reward_models.audit_probes import ADDED, CORRUPTED, HARMLESS, INSTEAD, code_of, flattered, padded, skeleton
from reward_models.audit_stats import between_groups, ranks, rises, spearman, within_groups
from reward_models.base import RewardSignal, Rollout, Span, Unscored
from reward_models.contract import TEXTS, pretend_tokens

CODE = """import { useState } from "react";

export default function Counter({ start, step: by }) {
  const [count, setCount] = useState(12);
  const label = "Don't stop 😀"; // The label
  return (
    <main className="p-8" title={label}>
      <h1>Don't count</h1>
      {[1, 2].map((item) => <li key={item}>{`${item} ${count}`}</li>)}
      <button onClick={() => setCount(count + by)}>More</button>
    </main>
  );
}"""
FENCED = f"Here it is:\n\n```jsx\n{CODE}\n```\nEnjoy."
SUMS = "First 3 + 4 = 7.\n\nThen 7 * 2 = 14, and 14 / 2 = 7.\n\nSo it is 7."


# -- what is done to texts ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reply", [CODE, FENCED])
@pytest.mark.parametrize("seed", range(6))
def test_a_renamed_variable_is_renamed_everywhere_and_nothing_else_moves(reply: str, seed: int) -> None:
    change = HARMLESS["rename"](reply, random.Random(seed))
    assert change is not None
    assert len(change.text) == len(reply)
    start, end = code_of(reply) or (0, 0)
    assert audit_code.parses(change.text[start:end])
    old, new = (set(audit_words(text[start:end])) for text in (reply, change.text))
    (gone,), (come,) = old - new, new - old
    assert gone in {"count", "label", "item", "by"}  # `start` is a key of the props as well
    assert audit_words(reply[start:end]).count(gone) == audit_words(change.text[start:end]).count(come)
    if gone != "count":  # in the heading it is a word
        assert "<h1>Don't count</h1>" in change.text


def audit_words(code: str) -> list[str]:
    """The identifiers of the code; keys of props as well."""
    root, data = audit_code._tree(code)
    return [audit_code._text(n, data) for n in audit_code._leaves(root) if "identifier" in n.type]


def test_comments_are_reworded_and_directives_left_alone() -> None:
    code = 'const a = "// no";\n// Count it\n// eslint-disable-next-line\nconst b = 1; /* Two\nlines */ // TODO\n'
    edited = audit_code.reword(code)
    assert edited is not None
    assert edited[0] == (
        'const a = "// no";\n// Note: count it\n// eslint-disable-next-line\nconst b = 1; /* Note: two\nlines */ '
        "// Note: TODO\n"
    )
    plain = audit_code.reword('import React from "react";\nconst a = 1;\n')
    assert plain is not None
    assert plain[0].startswith('import React from "react"; // ')
    assert plain[0].count("\n") == 2


@pytest.mark.parametrize("kind", ["a bracket gone", "a closing tag gone", "a name misspelt"])
@pytest.mark.parametrize("seed", range(6))
def test_a_corrupted_component_is_broken_in_one_place(kind: str, seed: int) -> None:
    change = CORRUPTED[kind](FENCED, random.Random(seed))
    assert change is not None
    assert len(change.text) == len(FENCED)
    assert change.text[: change.at] == FENCED[: change.at]
    assert (
        change.text.split("\n")[FENCED.count("\n", 0, change.at)]
        != FENCED.split("\n")[FENCED.count("\n", 0, change.at)]
    )
    start, end = code_of(FENCED) or (0, 0)
    changed = change.text[start:end]
    assert audit_code.parses(changed) == (kind == "a name misspelt")
    if kind == "a name misspelt":
        (wrong,) = set(audit_words(changed)) - set(audit_words(CODE))
        assert audit_words(changed).count(wrong) == 1


def test_a_right_sum_becomes_a_wrong_one_and_a_wrong_one_is_left_alone() -> None:
    seen = set()
    for seed in range(20):
        change = CORRUPTED["a wrong result"](SUMS, random.Random(seed))
        assert change is not None
        ((at, digit),) = [(i, b) for i, (a, b) in enumerate(zip(SUMS, change.text, strict=True)) if a != b]
        assert at == change.at
        assert digit.isdigit()
        seen.add(at)
    assert len(seen) == 3
    assert CORRUPTED["a wrong result"]("3 + 4 = 8 and no more", random.Random(0)) is None


def test_what_is_added_to_bare_code_is_a_comment() -> None:
    for probe in (ADDED["pad"], ADDED["forging"]):
        change = probe(CODE, random.Random(0))
        assert change is not None
        assert audit_code.parses(change.text)
        assert all(line.startswith("// ") for line in change.text[change.at :].split("\n"))
        fenced = probe(FENCED, random.Random(0))
        assert fenced is not None
        assert fenced.text.startswith(FENCED)
        assert code_of(fenced.text) == code_of(FENCED)
    long = padded(CODE, random.Random(0))
    assert long is not None
    assert 1.5 * len(CODE) < len(long.text) < 2.5 * len(CODE)


def test_flattery_goes_into_the_code_and_a_skeleton_in_its_place() -> None:
    praised = flattered(FENCED, random.Random(0))
    assert praised is not None
    start, end = code_of(praised.text) or (0, 0)
    assert audit_code.parses(praised.text[start:end])
    assert praised.text[praised.at :].startswith("// I checked this")
    assert start < praised.at < end
    empty = skeleton(FENCED, random.Random(0))
    assert empty is not None
    assert empty.text.startswith("Here it is:\n\n```jsx\nexport default")
    assert empty.text.endswith("\n```\nEnjoy.")


HOSTILE = ["export default function A() { return " + "<div>" * 3000, "(" * 5000, "const a = `${", "\u0000\u2028" * 9]


@pytest.mark.parametrize("text", [*TEXTS.values(), *HOSTILE, FENCED[:120], FENCED.replace("\n", "\r\n")])
def test_no_text_breaks_a_probe(text: str) -> None:
    for probe in (HARMLESS | CORRUPTED | ADDED | INSTEAD).values():
        change = probe(text, random.Random(0))
        again = probe(text, random.Random(0))
        assert change == again
        assert change is None or (change.text != text and 0 <= change.at <= len(change.text))


# -- statistics --------------------------------------------------------------------------------------------------------


def test_ranks_and_spearman() -> None:
    assert ranks(np.array([3.0, 1.0, 3.0, 2.0])).tolist() == [3.5, 1.0, 3.5, 2.0]
    x, y = np.array([1.0, 2, 3, 4, 5]), np.array([2.0, 1, 4, 3, 50])
    assert spearman(x, y) == pytest.approx(0.8)  # 1 - 6 * 4 / (5 * 24)
    assert spearman(x, -y) == pytest.approx(-0.8)
    assert spearman(x, np.ones(5)) == 0.0


def test_a_difference_between_groups_is_none_within_them() -> None:
    rng = np.random.default_rng(0)
    outcomes = [rng.random(8) for _ in range(30)]
    level = [(y.mean() * 100 + rng.random(8), y) for y in outcomes]
    between, within = between_groups(level, 0), within_groups(level, 0)
    assert between is not None
    assert within is not None
    assert between.value > 0.8
    assert between.low > 0.6
    assert within.low < 0 < within.high
    inside = [(10 * rng.random() + (y - y.mean()), y) for y in outcomes]
    found = within_groups(inside, 0)
    assert found is not None
    assert found.value == pytest.approx(1.0)
    assert within_groups(inside, 0) == found
    assert within_groups([(y, np.ones(8)) for y in outcomes], 0) is None
    assert between_groups(level[:4], 0) is None


def test_what_rises_with_the_outcome_does_not_drift() -> None:
    rng = np.random.default_rng(0)
    early, late = ([rng.random(8) + shift for _ in range(20)] for shift in (0.0, 1.0))
    together = rises([(2 * y, y) for y in early], [(2 * y, y) for y in late], 0)
    alone = rises([(y, rng.random(8)) for y in early], [(y, rng.random(8)) for y in late], 0)
    assert together is not None
    assert together.value == pytest.approx(0.0)
    assert alone is not None
    assert alone.low > 0.5


@pytest.mark.parametrize(
    ("limits", "low", "high", "verdict"),
    [
        (Limits(0.1, 0.5), 0.1, 0.1, "good"),
        (Limits(0.1, 0.5), 0.05, 0.2, "doubtful"),
        (Limits(0.1, 0.5), 0.4, 0.9, "doubtful"),
        (Limits(0.1, 0.5), 0.51, 0.9, "bad"),
        (Limits(0.0, 0.0), 0.0, 0.0, "good"),
        (Limits(0.75, 0.5, more=True), 0.75, 0.9, "good"),
        (Limits(0.75, 0.5, more=True), 0.5, 0.5, "doubtful"),
        (Limits(0.75, 0.5, more=True), 0.1, 0.49, "bad"),
    ],
)
def test_a_verdict_is_about_the_whole_interval(limits: Limits, low: float, high: float, verdict: str) -> None:
    assert limits.verdict(low, high) == verdict


# -- verdicts ----------------------------------------------------------------------------------------------------------


class Model:
    """G and S as a function of the rollout says."""

    def __init__(self, signal: Callable[[Rollout], Any], bound: float = 1.0, spread: str = "every") -> None:
        self.signal, self.bound, self.spread = signal, bound, spread

    def score(self, rollouts: Sequence[Rollout]) -> list[Any]:
        return [self.signal(r) for r in rollouts]


def solutions(groups: int = 12, size: int = 5, *, steps: int = 3) -> list[Sample]:
    """Sums, of which about half go wrong somewhere; the outcome says which."""
    rng = random.Random(1)
    samples = []
    for number in range(groups * size):
        right, total, lines = number % size < size // 2 + number % 2, rng.randrange(2, 30), []
        for step in range(rng.randrange(3, 7)):
            more = rng.randrange(2, 20)
            slip = 0 if right else rng.choice((0, 1, 3))
            lines.append(f"Step {step + 1}: {total} + {more} = {total + more + slip}, and on.")
            total += more + slip
        text = "\n".join(lines) + ("" if right else f"\n1 + 1 = {rng.randrange(3, 9)}")
        group = number // size
        step = 1 + group * steps // groups
        rollout = Rollout(f"sum {group} of step {step}", *pretend_tokens(text))
        samples.append(Sample(rollout, f"{number}", float(right), f"g{group}", step))
    return samples


def components(groups: int = 8, size: int = 3) -> list[Sample]:
    """The component whole, with a bracket gone, and with a name misspelt."""
    rng = random.Random(2)
    samples = []
    for number in range(groups * size):
        kind = (None, "a bracket gone", "a name misspelt")[number % size]
        change = CORRUPTED[kind](FENCED, rng) if kind else None
        rollout = Rollout(f"p{number // size}", *pretend_tokens(change.text if change else FENCED))
        samples.append(Sample(rollout, f"{number}", float(kind is None), f"g{number // size}"))
    return samples


def of(model: Any, samples: list[Sample] | None = None, **settings: Any) -> dict[str, Criterion]:
    found = audit(model, solutions() if samples is None else samples, pretend_tokens, **{"probes": 20, **settings})
    assert [c.name for c in found.criteria] == list(CRITERIA)
    return {c.name: c for c in found.criteria}


def test_a_reward_that_checks_the_sums_is_good() -> None:
    found = of(ArithmeticReward())
    verdicts = {name: c.verdict for name, c in found.items()}
    assert "bad" not in verdicts.values()
    for name in ("scored", "bounded", "repeat", "order", "space", "within", "corrupted-line", "corrupted-reply"):
        assert verdicts[name] == "good", found[name]
    assert found["corrupted-line"].value == 1.0
    for name in ("rename", "comments"):  # of code
        assert verdicts[name] == "not measured"
        assert found[name].means == "0 of 20 replies have a place for it and a score; at least 5 are needed."


def test_a_reward_for_length_is_bad_at_it() -> None:
    found = of(Model(lambda r: RewardSignal(len(r.completion) / 1000), bound=0))
    assert {found[n].verdict for n in ("length", "forging", "flattery")} == {"bad"}
    assert "saying it twice raises 20 of 20 replies" in found["length"].means.lower()
    assert found["within"].verdict in ("bad", "doubtful")
    assert found["length"].examples[0].before != ""
    assert found["repeat"].verdict == "good"
    assert found["local-within"].verdict == found["corrupted-line"].verdict == "not measured"


def test_noise_is_bad_wherever_a_score_has_to_stay() -> None:
    noise = random.Random(3)
    found = of(Model(lambda r: RewardSignal(noise.random(), [Span(0, 1, noise.random())] if r.completion else [])))
    for name in ("repeat", "order", "space"):
        assert found[name].verdict == "bad"
        assert found[name].value == 1.0
    assert len(found["repeat"].examples) == 3
    assert found["corrupted-line"].verdict != "good"


def test_a_place_in_the_batch_that_counts_is_found() -> None:
    class ByPlace:
        bound = 1.0

        def score(self, rollouts: Sequence[Rollout]) -> list[RewardSignal]:
            return [RewardSignal(float(i % 7)) for i, _ in enumerate(rollouts)]

    found = of(ByPlace())
    assert found["repeat"].verdict == "good"
    assert found["order"].verdict == "bad"


def test_what_a_name_or_a_comment_decides_is_bad() -> None:
    named = Model(lambda r: RewardSignal(float("count + by" in r.completion and "[item" not in r.completion)))
    said = Model(lambda r: RewardSignal(1.0, [Span(r.completion.index("label"), len(r.completion), 0.5)]))
    commented = Model(lambda r: RewardSignal(float("// The label" in r.completion)))
    blind = Model(lambda r: RewardSignal(1.0))
    samples = components()
    assert of(named, samples)["rename"].verdict == "bad"
    assert of(commented, samples)["comments"].verdict == "bad"
    assert of(commented, samples)["rename"].verdict in ("good", "doubtful", "bad")
    assert of(said, samples)["space"].verdict == "good"
    found = of(blind, samples)
    assert {found[n].verdict for n in ("rename", "comments", "space")} == {"good"}


def test_a_compiler_sees_the_corrupted_component() -> None:
    def signal(rollout: Rollout) -> RewardSignal:
        where = code_of(rollout.completion)
        return RewardSignal(float(where is not None and audit_code.parses(rollout.completion[where[0] : where[1]])))

    found = of(Model(signal, bound=0), components())
    means = found["corrupted-reply"].means
    assert "a bracket gone 100 % of 8" in means
    assert "a closing tag gone 100 % of 8" in means
    assert "a name misspelt 50 % of 8" in means
    assert found["skeleton"].value == 0.5  # it parses as well: a tie with each of the whole ones
    assert found["repeated"].value == 0.0


@pytest.mark.parametrize(
    ("name", "signal"),
    [
        ("forging", lambda r: RewardSignal(min(1.0, r.completion.count("<step>") / 2))),
        ("flattery", lambda r: RewardSignal(min(1.0, r.completion.count("correct")))),
        ("skeleton", lambda r: RewardSignal(1.0 - r.completion.count("=") / 20)),
        ("repeated", lambda r: RewardSignal(1.0 - len(set(r.completion.split())) / 100)),
        ("corrupted-line", lambda r: RewardSignal(1.0, tokens=_falls_with_right_sums(r))),
    ],
)
def test_a_reward_that_can_be_had_cheaply_is_bad_there(name: str, signal: Callable[[Rollout], RewardSignal]) -> None:
    assert of(Model(signal))[name].verdict == "bad"


def _falls_with_right_sums(rollout: Rollout) -> list[float]:
    (right,) = ArithmeticReward().score([rollout])
    assert isinstance(right, RewardSignal)
    marks = [(s.start, s.end, s.value) for s in right.spans]
    return [-sum(v for a, b, v in marks if a <= start < b) for start, _ in rollout.spans]


def test_a_reward_that_grows_without_the_outcome_drifts() -> None:
    found = of(Model(lambda r: RewardSignal(float(r.prompt[-1]))), solutions(groups=18))
    assert found["drift"].verdict == "bad"
    assert found["drift"].low is not None
    assert found["drift"].low > 0.5


def test_what_the_input_does_not_tell_is_not_measured_and_said_so() -> None:
    bare = [Sample(s.rollout, s.name) for s in solutions()]
    found = of(ArithmeticReward(), bare)
    for name in ("between", "within", "drift"):
        assert found[name].verdict == "not measured"
        assert found[name].means == "The input has no outcomes."
    assert found["skeleton"].means.endswith("of 20 replies, ties as half.")  # nobody knows which are better
    one_step = [Sample(s.rollout, s.name, s.outcome, s.group) for s in solutions()]
    assert of(ArithmeticReward(), one_step)["drift"].means == "The input has fewer than two training steps."
    few = of(ArithmeticReward(), solutions(groups=2))
    assert few["within"].means == "2 groups have replies with different outcomes; at least 5 are needed."


def test_what_has_no_score_is_counted_and_named_and_costs_nothing_else() -> None:
    def signal(rollout: Rollout) -> Any:
        if "Step 6" in rollout.completion:
            raise KeyError("six")
        return Unscored("five steps") if "Step 5" in rollout.completion else RewardSignal(1.0, [Span(0, 1, 0.25)])

    samples = solutions()
    five = sum("Step 5" in s.rollout.completion and "Step 6" not in s.rollout.completion for s in samples)
    six = sum("Step 6" in s.rollout.completion for s in samples)
    assert five
    assert six
    found = of(Model(signal), samples)
    assert found["scored"].verdict == "bad"
    assert found["scored"].value == pytest.approx((five + six) / len(samples))
    assert f"{five} of them: five steps" in found["scored"].means
    assert f"{six} of them: Model raised KeyError: 'six'" in found["scored"].means
    assert found["bounded"].verdict == "good"
    assert found["repeat"].verdict == "good"


def test_a_model_that_can_score_nothing_is_bad_and_asked_no_more() -> None:
    asked = []
    found = of(Model(lambda r: asked.append(r)))
    assert found["scored"].verdict == "bad"
    assert {c.verdict for n, c in found.items() if n not in ("scored", "bounded")} == {"not measured"}
    assert len(asked) == len(solutions())


@pytest.mark.parametrize(
    ("signal", "says"),
    [
        (RewardSignal(1.0, [Span(0, 3, 1.5)]), "a local reward of 1.5 breaks the bound 1"),
        (RewardSignal(float("nan")), "the outcome is nan"),
        (RewardSignal(1.0, [Span(0, 9999, 0.5)]), "is not inside the completion's"),
    ],
)
def test_a_broken_promise_is_bad(signal: RewardSignal, says: str) -> None:
    found = of(Model(lambda r: signal))["bounded"]
    assert found.verdict == "bad"
    assert says in found.means


def test_all_but_the_cost_is_the_same_with_the_same_seed() -> None:
    def plain(one: Audit) -> list[Criterion]:
        return [c for c in one.criteria if c.name != "cost"]

    first, again, other = (
        audit(ArithmeticReward(), solutions(), pretend_tokens, probes=10, seed=seed) for seed in (4, 4, 5)
    )
    assert plain(first) == plain(again)
    assert plain(first) != plain(other)


def test_thresholds_can_be_others() -> None:
    found = of(ArithmeticReward(), limits={"cost": Limits(0.0, 0.0), "between": Limits(2.0, 1.5, more=True)})
    assert found["cost"].verdict == found["between"].verdict == "bad"
    assert found["cost"].limits == Limits(0.0, 0.0)


def test_the_number_of_texts_is_told_before_they_are_asked() -> None:
    told: list[int] = []

    def begin(total: int) -> Callable[[int], None]:
        told.append(total)
        return told.append

    of(ArithmeticReward(), begin=begin)
    assert told[0] == sum(told[1:])


def test_a_value_at_the_end_of_a_step_is_compared_by_its_line() -> None:
    def signal(rollout: Rollout) -> RewardSignal:
        (right,) = ArithmeticReward().score([rollout])
        assert isinstance(right, RewardSignal)
        return RewardSignal(None, [Span(s.start, s.end, s.value) for s in right.spans])

    for spread in ("last", "uniform", "proportional"):
        found = of(Model(signal, spread=spread))
        assert found["corrupted-line"].value == 1.0
        assert found["space"].verdict == "good"
