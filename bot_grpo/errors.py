"""The one exception that a person's mistake raises."""


class UserError(Exception):
    """Bad input: the message is one line that says what is wrong and what to do. The command exits with 2."""
