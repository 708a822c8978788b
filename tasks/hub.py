"""Whether the hub can be reached at all: its libraries find out by a minute of further tries."""

from __future__ import annotations

from functools import cache
from pathlib import Path

ANSWER_S = 5.0
"""What the hub may take to answer."""


@cache
def reachable() -> bool:
    """Whether the hub answers a request, whatever it says."""
    from huggingface_hub import constants
    from huggingface_hub.utils import get_session

    if constants.HF_HUB_OFFLINE:
        return False
    try:
        get_session().head(constants.ENDPOINT, timeout=ANSWER_S)
    except Exception as error:
        if isinstance(error, OSError) or is_of_the_client(error):
            return False
        raise
    return True


def lost(name: str, kind: str = "model") -> bool:
    """Whether a hub id ("model" or "dataset") can be had neither from the hub's cache on this machine nor there.

    False for what cannot be an id: whoever loads it knows better what to say.
    """
    from huggingface_hub import constants
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils import validate_repo_id

    try:
        validate_repo_id(name)
    except HFValidationError:
        return False
    folder = "--".join([f"{kind}s", *name.split("/")])
    return not (Path(constants.HF_HUB_CACHE) / folder / "snapshots").is_dir() and not reachable()


def is_of_the_client(error: Exception) -> bool:
    """Whether the hub's HTTP client raised it; which client that is differs between the library's versions."""
    return any(kind.__module__.split(".")[0].startswith("httpx") for kind in type(error).__mro__)
