"""The one exception that a person's mistake about a reward model raises."""


class RewardError(ValueError):
    """There is no such reward model, or it can't be made: one line that says what is wrong and what to do."""
