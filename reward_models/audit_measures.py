"""How each criterion of an audit is measured, from what the model answered (see `audit`)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

import numpy as np

from reward_models.audit_answers import Answers, Heard, Pair, on_lines
from reward_models.audit_probes import INSTEAD
from reward_models.audit_stats import MIN_GROUPS, Estimate, Group, between_groups, mean, rises, within_groups
from sandbox.words import counted, plural

MOVED = 0.01
"""A score that moves by less than this share of its range has not moved: a sum of floats in another order does that."""
MIN_PAIRS = 5
"""A share of fewer replies would say nothing."""
MAX_EXAMPLES = 3
_SHOWN = 160


@dataclass(frozen=True)
class Example:
    """A reply that shows it: what was changed, and what the model said before and after."""

    name: str
    what: str
    before: str
    after: str
    score_before: str
    score_after: str


@dataclass(frozen=True)
class Measured:
    """A value, its 95 % interval where it has one, what it means in a sentence, and what there is to see."""

    value: float
    means: str
    low: float | None = None
    high: float | None = None
    examples: tuple[Example, ...] = ()


Measure = Callable[[Answers], Measured | str]
"""Gives a measurement, or why there is none."""


# -- is there a score, and is it within its bounds? --------------------------------------------------------------------


def scored(a: Answers) -> Measured:
    """The share of replies without a score, and why."""
    reasons = Counter(one.reason for one in a.first if not one.scored)
    share = reasons.total() / len(a.first)
    after = Counter(
        p.after.reason for pairs in a.pairs.values() for p in pairs if p.before.scored and not p.after.scored
    )
    n = reasons.total()
    said = [
        f"{n} of {counted(len(a.first), 'reply', 'replies')} {plural(n, 'has', 'have')} no score",
        *_counted(reasons),
    ]
    if after:
        said += [f"of probes {after.total()} have none", *_counted(after)]
    return Measured(share, "; ".join(said) + ".")


def bounded(a: Answers) -> Measured:
    """The share of answers that break what the model declares."""
    everything = [*a.first, *(p.after for pairs in a.pairs.values() for p in pairs)]
    broken = Counter(one.broken for one in everything if one.broken)
    worst = max((float(np.abs(one.local_T).max(initial=0.0)) for one in everything), default=0.0)
    outcomes = [one.outcome for one in everything if one.outcome is not None]
    said = [f"the largest |S| of a token is {worst:.3g}, the declared bound B is {a.bound:.3g}"]
    if outcomes:
        said.append(_minus(f"G goes from {min(outcomes):.3g} to {max(outcomes):.3g}"))
    if broken:
        n = broken.total()
        of = counted(len(everything), "answer")
        said += [f"{n} of {of} {plural(n, 'breaks', 'break')} what is declared", *_counted(broken)]
    return Measured(broken.total() / len(everything), _sentence(said))


def saturated(a: Answers) -> Measured | str:
    """The largest share of replies or tokens that lie at one end."""
    if not a.scored:
        return _NOTHING
    ends: dict[str, float] = {}
    outcomes = [one.outcome for one in a.scored if one.outcome is not None]
    if outcomes:
        ends[f"replies have the highest G that there is, {max(outcomes):.3g}"] = _share(
            g == max(outcomes) for g in outcomes
        )
        ends[f"replies have the lowest G that there is, {min(outcomes):.3g}"] = _share(
            g == min(outcomes) for g in outcomes
        )
    if a.has_local:
        local = np.concatenate([one.local_T for one in a.scored])
        ends["tokens are at the bound +B"] = float((local >= 0.99 * a.bound).mean())
        ends["tokens are at the bound −B"] = float((local <= -0.99 * a.bound).mean())
    if not ends:
        return "no reply has an outcome or a local reward"
    most = max(ends, key=lambda end: ends[end])
    return Measured(ends[most], f"The largest crowd at one end: {_percent(ends[most])} of the {most}.")


def zero(a: Answers) -> Measured | str:
    """The share of replies that get nothing."""
    if not a.scored:
        return _NOTHING
    share = _share(not one.outcome and not one.local_T.any() for one in a.scored)
    tokens = float((np.concatenate([one.local_T for one in a.scored]) == 0).mean()) if a.scored else 1.0
    return Measured(
        share, f"{_percent(share)} of the replies get nothing at all; {_percent(tokens)} of the tokens have S = 0."
    )


# -- does it stay where it is? -----------------------------------------------------------------------------------------


def same(pick: Callable[[Answers], Sequence[Heard]], when: str) -> Measure:
    """The share of replies whose score moves."""

    def measure(a: Answers) -> Measured | str:
        pairs = list(zip(a.samples, a.first, pick(a), strict=True)) if a.scored else []
        moves = [(_token_move(a, x, y), s.name, x, y) for s, x, y in pairs if x.scored or y.scored]
        if not moves:
            return _NOTHING
        worst = sorted((m for m in moves if m[0] > MOVED), key=lambda m: -m[0])
        examples = tuple(
            Example(name, when, _line(x.rollout.completion.strip(), 0), "(the same)", _said(x), _said(y))
            for _, name, x, y in worst[:MAX_EXAMPLES]
        )
        return Measured(
            len(worst) / len(moves), _moved_words([m[0] for m in worst], len(moves), when), examples=examples
        )

    return measure


def _token_move(a: Answers, x: Heard, y: Heard) -> float:
    """Of one rollout: token by token."""
    if x.scored != y.scored:
        return 1.0
    local = float(np.abs(x.local_T - y.local_T).max(initial=0.0)) / a.local_size
    return max(local, abs((x.outcome or 0.0) - (y.outcome or 0.0)) / a.outcome_range)


def harmless(key: str, when: str) -> Measure:
    """The share of replies whose score moves."""

    def measure(a: Answers) -> Measured | str:
        pairs = [p for p in a.pairs[key] if p.before.scored]
        if len(pairs) < MIN_PAIRS:
            return _too_few(a, key, len(pairs))
        moves = sorted(((a.moved(p.before, p.after), p) for p in pairs), key=lambda m: -m[0])
        worst = [(move, p) for move, p in moves if move > MOVED]
        examples = tuple(_example(p, when) for _, p in worst[:MAX_EXAMPLES])
        return Measured(
            len(worst) / len(pairs), _moved_words([m[0] for m in worst], len(pairs), when), examples=examples
        )

    return measure


def _groups_have(n: int) -> str:
    return f"{counted(n, 'group')} {plural(n, 'has', 'have')}"


def _moved_words(moves: Sequence[float], total: int, when: str) -> str:
    most = f", at most by {_percent(max(moves))} of their range" if moves else ""
    of = counted(total, "reply", "replies")
    return f"{len(moves)} of {of} {plural(len(moves), 'changes its', 'change their')} score {when}{most}."


# -- does it go with the outcome? --------------------------------------------------------------------------------------


def correlation(which: Literal["between", "within"], *, local: bool) -> Measure:
    """Of the rewards, or of the mean local rewards alone, with the outcomes of the input."""

    def measure(a: Answers) -> Measured | str:
        if local and not (a.has_outcome and a.has_local):
            return "the reward is local alone: see the rows above" if a.has_local else _NOT_LOCAL
        groups = _groups(a, lambda one: round(one.local, 9) if local else one.reward)
        if isinstance(groups, str):
            return groups
        pairs = list(groups.values())
        if which == "between":
            found, n, why = between_groups(pairs, a.seed), len(pairs), f"{_groups_have(len(pairs))} outcomes"
        else:
            found, n = within_groups(pairs, a.seed), sum(len(y) > 1 and bool(np.ptp(y) > 0) for _, y in pairs)
            why = f"{_groups_have(n)} replies with different outcomes"
        if found is None:
            few = n < MIN_GROUPS
            return f"{why}; at least {MIN_GROUPS} are needed" if few else "the groups' mean outcomes are all the same"
        what = "the local reward" if local else "the reward"
        where = "of groups" if which == "between" else "of the replies of a group"
        figure = _minus(f"{found.value:.2f} ({found.low:.2f} to {found.high:.2f})")
        words = f"{what} {where} has a rank correlation of {figure} with the outcome, over {counted(found.n, 'group')}"
        return Measured(found.value, _sentence([words]), found.low, found.high)

    return measure


def drift(a: Answers) -> Measured | str:
    """How much more the reward grows than the outcome, from the first third of the groups, by step, to the last."""
    groups = _groups(a, lambda one: one.reward)
    if isinstance(groups, str):
        return groups
    step_of = {s.group: s.step for s in a.samples if s.step is not None and s.group in groups}
    if len(set(step_of.values())) < 2:
        return "the input has fewer than two training steps"
    ordered = sorted(step_of, key=lambda group: step_of[group])
    third = len(ordered) // 3
    found = rises([groups[g] for g in ordered[:third]], [groups[g] for g in ordered[len(ordered) - third :]], a.seed)
    if found is None:
        few = third < MIN_GROUPS
        return (
            f"{_groups_have(len(ordered))} outcomes; at least {3 * MIN_GROUPS} are needed"
            if few
            else "the outcomes are all the same"
        )
    figure = _minus(f"{found.value:+.2f} ({found.low:+.2f} to {found.high:+.2f})")
    words = f"from the first third of the groups to the last, by step, the reward grows {figure} deviations more"
    near, far = sorted((abs(found.low), abs(found.high)))
    low = 0.0 if found.low <= 0 <= found.high else near
    return Measured(abs(found.value), f"{_sentence([words])[:-1]} than the outcome.", low, far)


def _groups(a: Answers, value: Callable[[Heard], float]) -> dict[str, Group] | str:
    """The values and the outcomes by group, in the order in which they came. Or why there are none."""
    if not a.scored:
        return _NOTHING
    members: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for sample, one in zip(a.samples, a.first, strict=True):
        if one.scored and sample.outcome is not None:
            members[sample.group].append((value(one), sample.outcome))
    columns = {group: np.array(pairs).T for group, pairs in members.items()}
    return {group: (x, y) for group, (x, y) in columns.items()} or "the input has no outcomes"


# -- does it see what is wrong? ----------------------------------------------------------------------------------------


def corrupted(*, local: bool) -> Measure:
    """How often what was made wrong gets less, ties as half."""

    def measure(a: Answers) -> Measured | str:
        if local and not a.has_local:
            return _NOT_LOCAL
        pairs = [p for p in a.pairs["corrupted"] if p.scored]
        if len(pairs) < MIN_PAIRS:
            return _too_few(a, "corrupted", len(pairs))
        size = MOVED * (a.local_size if local else a.reward_range)
        by_kind: dict[str, list[float]] = defaultdict(list)
        wrong = []
        for p in pairs:
            gap = _line_gap(a, p) if local else p.rise
            by_kind[p.kind].append(1.0 if gap < -size else 0.5 if gap <= size else 0.0)
            if gap >= -size:
                wrong.append((gap, p))
        wrong.sort(key=lambda w: -w[0])
        found = mean([x for won in by_kind.values() for x in won], a.seed)
        kinds = ", ".join(f"{kind} {_percent(fmean(won))} of {len(won)}" for kind, won in by_kind.items())
        what = "the corrupted line's local reward" if local else "the reply's reward"
        words = f"{what} falls in {_interval(found)} of the cases, ties as half ({kinds})"
        examples = tuple(_example(p, p.kind) for _, p in wrong[:MAX_EXAMPLES])
        return Measured(found.value, _sentence([words]), found.low, found.high, examples)

    return measure


def _line_gap(a: Answers, p: Pair) -> float:
    """How far the local reward of the changed line goes up."""
    line = p.change.text.count("\n", 0, p.change.at)
    before, after = (on_lines(one, a.spread) for one in (p.before, p.after))
    if line >= min(len(before), len(after)):
        return 0.0
    gaps = after[line] - before[line]  # of its lowest token, and of its highest
    return float(gaps[0]) if gaps[0] else float(gaps[1])


# -- can it be had cheaply? --------------------------------------------------------------------------------------------


def gain(keys: Sequence[str], how: Mapping[str, str]) -> Measure:
    """The mean gain of what is added to replies, where it gains anything, as a share of the rewards' range."""

    def measure(a: Answers) -> Measured | str:
        found: dict[str, tuple[float, list[Pair]]] = {}
        for key in keys:
            pairs = [p for p in a.pairs[key] if p.scored]
            if len(pairs) >= MIN_PAIRS:
                found[key] = fmean(max(0.0, p.rise) / a.reward_range for p in pairs), pairs
        if not found:
            return _too_few(a, keys[0], 0)
        worst = max(found, key=lambda key: found[key][0])
        words = [
            f"{how[key]} raises {sum(p.rise > MOVED * a.reward_range for p in pairs)} of {len(pairs)} replies,"
            f" on average by {_percent(average, 1)} of the rewards' range"
            for key, (average, pairs) in found.items()
        ]
        up = sorted((p for p in found[worst][1] if p.rise > MOVED * a.reward_range), key=lambda p: -p.rise)
        return Measured(
            found[worst][0], _sentence(words), examples=tuple(_example(p, how[worst]) for p in up[:MAX_EXAMPLES])
        )

    return measure


def beaten(key: str, how: str) -> Measure:
    """The share of replies whose reward is no higher than that of what stands in their place."""

    def measure(a: Answers) -> Measured | str:
        pairs = [p for p in a.pairs[key] if p.scored]
        if len(pairs) < MIN_PAIRS:
            return _too_few(a, key, len(pairs))
        size = MOVED * a.reward_range
        found = mean([1.0 if p.rise > size else 0.5 if p.rise >= -size else 0.0 for p in pairs], a.seed)
        which = "replies with an outcome above the mean" if a.best_known else "replies"
        words = f"{how} does better than {_interval(found)} of {len(pairs)} {which}, ties as half"
        beat = sorted((p for p in pairs if p.rise >= -size), key=lambda p: -p.rise)
        examples = tuple(_example(p, how) for p in beat[:MAX_EXAMPLES])
        return Measured(found.value, _sentence([words]), found.low, found.high, examples)

    return measure


def cost(a: Answers) -> Measured | str:
    """Seconds a thousand tokens."""
    tokens = sum(len(s.rollout.token_ids) for s in a.samples)
    if not tokens or not a.scored:
        return _NOTHING
    seconds = a.seconds / tokens * 1000
    return Measured(seconds, f"A thousand tokens take {seconds:.3g} s ({len(a.first)} replies in {a.seconds:.3g} s).")


# -- words -------------------------------------------------------------------------------------------------------------

_NOTHING = "nothing could be scored"
_NOT_LOCAL = "no token has a local reward"


def _too_few(a: Answers, key: str, found: int) -> str:
    if not a.scored:
        return _NOTHING
    better = a.best_known and (key in INSTEAD or key == "corrupted")
    which = "replies with an outcome above the mean" if better else "replies"
    return f"{found} of {a.tried[key]} {which} have a place for it and a score; at least {MIN_PAIRS} are needed"


def _percent(share: float, digits: int = 0) -> str:
    return f"{100 * share:.{digits}f} %"


def _share(those: Iterable[bool]) -> float:
    return fmean(map(float, those))


def _interval(share: Estimate) -> str:
    return f"{_percent(share.value)} ({_percent(share.low)} to {_percent(share.high)})"


def _counted(reasons: Counter[str]) -> list[str]:
    return [f"{count} of them: {reason}" for reason, count in reasons.most_common(3)]


def _sentence(parts: Sequence[str]) -> str:
    text = "; ".join(part.rstrip(".") for part in parts) + "."
    return text[0].upper() + text[1:]


def _said(one: Heard) -> str:
    if not one.scored:
        return f"no score: {one.reason}"
    parts = [] if one.outcome is None else [f"G {one.outcome:.4g}"]
    if one.local_T.any() or not parts:
        parts.append(f"mean S {one.local:.4g}")
    return _minus(", ".join(parts))


def _minus(figures: str) -> str:
    return figures.replace("-", "−")


def _example(p: Pair, what: str) -> Example:
    before = p.before.rollout.completion
    at = p.change.at
    return Example(p.name, what, _line(before, at), _line(p.change.text, at), _said(p.before), _said(p.after))


def _line(text: str, at: int) -> str:
    """The line around a character, cut to what can be shown."""
    start = text.rfind("\n", 0, at) + 1
    end = text.find("\n", at)
    return _short(text[max(start, at - _SHOWN // 2) : len(text) if end < 0 else end])


def _short(text: str) -> str:
    text = text.strip()
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]} …"
