"""Rollouts from texts, one token a word, for tests."""

from __future__ import annotations

import re
from typing import Any

from reward_models.base import Rollout


def rollout(text: str, prompt: str = "q", **row: Any) -> Rollout:
    """A completion whose tokens are its words with the white space before them, and an EOS without text."""
    spans = [m.span() for m in re.finditer(r"\s*\S+|\s+$", text)]
    spans.append((len(text), len(text)))
    return Rollout(prompt, text, tuple(range(len(spans))), tuple(spans), row)
