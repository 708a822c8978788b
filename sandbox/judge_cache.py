"""Answers that were paid for, kept on disk: one small JSON file each.

A file appears whole or not at all, so any number of processes (on a network drive, too) can share a folder, and a
damaged file costs one answer.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Answer:
    """What a model said. `cut`: it ran into the limit on its length. Tokens as the server counted them. `thought`: what
    a server that parts thoughts from the answer sends beside it."""

    text: str
    cut: bool = False
    prompt_tokens: int = 0
    completion_tokens: int = 0
    thought: str = ""

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens

    @property
    def whole_lines(self) -> str:
        """The text without a last line that may have been cut off: `SCORE: 1` may be the half of `SCORE: 10`."""
        return self.text.rpartition("\n")[0] if self.cut else self.text


class AnswerCache:
    """Answers by the body of their request: model, words, images, and every setting that is sent.

    The address of the server is no part of it: two models behind one name want two folders. A folder of None keeps
    answers in memory.
    """

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self._memory: dict[str, Answer] = {}
        self._warned = False
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)

    @staticmethod
    def key(body: Mapping[str, Any]) -> str:
        return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()

    def get(self, key: str) -> Answer | None:
        if self.folder is None:
            return self._memory.get(key)
        try:
            kept = json.loads(self._path(key).read_text(encoding="utf-8"))
            answer = Answer(**kept)
        except (OSError, ValueError, TypeError):
            return None
        whole = isinstance(answer.text, str) and isinstance(answer.prompt_tokens, int)
        return answer if whole and isinstance(answer.completion_tokens, int) else None

    def put(self, key: str, answer: Answer) -> None:
        """Keep it. A disk that is full loses the answer for the next run, not for this one."""
        if self.folder is None:
            self._memory[key] = answer
            return
        try:
            path = self._path(key)
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, scratch = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".tmp")
            try:
                with os.fdopen(handle, "w", encoding="utf-8") as file:
                    json.dump(asdict(answer), file)
                os.replace(scratch, path)
            except BaseException:
                os.unlink(scratch)
                raise
        except OSError as error:
            if not self._warned:
                self._warned = True
                warnings.warn(f"answers cannot be kept in {self.folder}: {error.strerror or error}", stacklevel=2)

    def _path(self, key: str) -> Path:
        assert self.folder is not None
        return self.folder / key[:2] / f"{key}.json"
