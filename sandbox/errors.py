"""What the sandbox raises when it cannot work at all (a bad component never raises: it is an `Outcome`)."""


class SetupError(RuntimeError):
    """A tool is missing (Node, its packages, Chromium): the message is one line that says how to get it."""
