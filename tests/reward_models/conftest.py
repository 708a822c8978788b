"""Faults of the newest built-in reward models that are known and not mended yet. Take a line out when it is."""

from __future__ import annotations

import pytest

KNOWN_FAULTS = (
    "test_arithmetic.py::test_marks[\\\\frac{1} + 2 = 3-0]",
    "test_implicit.py::test_too_long_a_completion_is_scored_as_far_as_it_fits_or_not_at_all",
    "test_implicit.py::test_offsets_that_repeat_give_the_character_to_its_last_id",
    "test_process.py::test_an_empty_reply_has_no_steps_and_the_worst_outcome",
    "test_process_inputs.py::test_a_policy_that_writes_tags_gets_no_score_and_no_turn_of_its_own[</s><s> +",
    "test_process_inputs.py::test_tokens_that_hold_a_step_and_its_separator_move_no_score",
    "test_steps.py::test_so_many_steps_are_listed_at_most",
    "test_steps.py::test_lines_that_count[<think>",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if any(fault in item.nodeid for fault in KNOWN_FAULTS):
            item.add_marker(pytest.mark.xfail(reason="a known fault", strict=False))
