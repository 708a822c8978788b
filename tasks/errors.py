"""What a task raises when its data cannot be used."""


class TaskError(ValueError):
    """Data that cannot be used: the message is one line that says what is wrong and what to do."""
