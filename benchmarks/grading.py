"""What grading costs: ordinary replies to AIME problems by `tasks.answers.grade`, beside Math-Verify on some of them.

    python benchmarks/grading.py                      # 100,000 replies of 0.3 to 12 kB
    python benchmarks/grading.py --replies 10000 --math-verify 0

Both run in this process, on one core, in turns; times are its CPU time. Math-Verify parses
and compares the final answer that it finds itself, with its time-outs switched off, as `tasks.equivalence` does in its
child.
"""

from __future__ import annotations

import argparse
import logging
import random
import time
from collections import Counter

from tasks.answers import grade
from tasks.arithmetic_problems import LEVELS, problems

ENDS = (
    "So the answer is $\\boxed{%d}$.",
    "\\boxed{%d}",
    "$$\\boxed{\\text{%d}}$$\n\nThis completes the solution.",
    "Therefore $m+n = \\boxed{%03d}$.",
    "<final>%d</final>",
    "The answer is %d.",
    "**Answer:** %d",
    "We get %d.",
    "\\boxed{\\frac{%d}{7}}",
    "\\boxed{%d",
)


def replies(n: int, seed: int = 0) -> list[tuple[str, int]]:
    """Replies with their golds: text and formulas of very different lengths, a thought in a third, many ends."""
    rng = random.Random(seed)
    rows = [row for level in LEVELS for row in problems(level, n=500)]
    lines = [
        line
        for row in rows
        for line in (f"{row.problem}\n", f"{row.extra['solution']}\n", "$x_{1}^2 = \\frac{a}{b}$\n")
    ]
    made = []
    for _ in range(n):
        gold = rng.randrange(1000)
        text = "".join(rng.choices(lines, k=round(rng.lognormvariate(3.2, 0.8)))).replace("<final>", "")[:12_000]
        if rng.random() < 1 / 3:
            text = f"<think>{text}</think>{text[:500]}"
        made.append((f"{text}\n{rng.choice(ENDS) % (gold if rng.random() < 0.5 else rng.randrange(1000))}", gold))
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--replies", type=int, default=100_000)
    parser.add_argument("--math-verify", type=int, default=500, help="how many of them it gets; 0: none")
    args = parser.parse_args()
    made = replies(args.replies)
    sizes = sorted(len(text) for text, _ in made)
    print(f"{len(made)} replies, {sizes[len(sizes) // 2]} characters in the median, {sizes[-1]} in the longest")
    start = time.process_time()
    reasons = Counter(grade(text, gold).reason for text, gold in made)
    seconds = time.process_time() - start
    print(f"grade: {seconds:.2f} s of CPU, {seconds / len(made) * 1e6:.0f} us a reply; {dict(reasons.most_common())}")
    if args.math_verify:
        compare(made[: args.math_verify])


def compare(made: list[tuple[str, int]]) -> None:
    from math_verify import parse, verify

    logging.disable()
    ours = theirs = 0.0
    agreed = 0
    for text, gold in made:
        start = time.process_time()
        mine = grade(text, gold).correct
        between = time.process_time()
        other = verify(
            parse(f"\\boxed{{{gold}}}", parsing_timeout=None), parse(text, parsing_timeout=None), timeout_seconds=None
        )
        theirs += time.process_time() - between
        ours += between - start
        agreed += mine == other
    print(
        f"on {len(made)} of them: grade {ours:.3f} s, Math-Verify {theirs:.2f} s ({theirs / ours:.0f} times)", end="; "
    )
    print(f"{agreed} graded alike")


if __name__ == "__main__":
    main()
