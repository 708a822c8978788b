"""A full disk, on a real small one: mounted in a name space of its own, so that nothing is left of it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bot_grpo.disk import full_disk_explained
from bot_grpo.errors import UserError

WRITES = """
import sys
from pathlib import Path
from bot_grpo.disk import full_disk_explained
from bot_grpo.errors import UserError

def tokenizer(folder):
    from tokenizers import Tokenizer, models
    Tokenizer(models.WordLevel({str(i): i for i in range(40_000)}, unk_token="0")).save(str(folder / "t.json"))

def weights(folder):
    import numpy, safetensors.numpy
    safetensors.numpy.save_file({"a": numpy.zeros(5_000_000)}, folder / "a.safetensors")

def text(folder):
    raise UserError("what has been said already")

try:
    with full_disk_explained(Path(sys.argv[1]) / "run", " and go on"):
        {"tokenizer": tokenizer, "weights": weights, "text": text}[sys.argv[2]](Path(sys.argv[1]))
except UserError as error:
    print(error)
"""


def write_on_a_disk_of(size: str, what: str, folder: Path) -> str:
    """What is said of it; skips where this machine lets nobody mount one."""
    mount = ["unshare", "--map-root-user", "--mount", "sh", "-c"]
    if shutil.which("unshare") is None:
        pytest.skip("there is no unshare")
    script = f'mount -t tmpfs -o size={size} none "$0" || exit 77; exec "$@"'
    command = [*mount, script, str(folder), sys.executable, "-c", WRITES, str(folder), what]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    if done.returncode == 77 or "unshare" in done.stderr:
        pytest.skip("this machine lets nobody mount a small disk")
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("what", ["tokenizer", "weights"])
def test_a_full_disk_is_one_line_whatever_the_exception(what: str, tmp_path: Path) -> None:
    said = write_on_a_disk_of("256k", what, tmp_path)
    assert said == f"the disk of {tmp_path / 'run'} is full; free some space and go on"


def test_weights_that_clean_up_behind_themselves_leave_room_and_are_said_too(tmp_path: Path) -> None:
    said = write_on_a_disk_of("32m", "weights", tmp_path)
    assert said.startswith("no space left: ")
    assert "has 32 MiB free, too few" in said


def test_what_has_words_of_its_own_keeps_them(tmp_path: Path) -> None:
    assert write_on_a_disk_of("256k", "text", tmp_path) == "what has been said already"


def test_with_room_an_exception_stays_what_it_is(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="something else"), full_disk_explained(tmp_path / "new", ""):
        raise RuntimeError("something else")
    with pytest.raises(UserError, match="no space left"), full_disk_explained(tmp_path / "new", ""):
        raise OSError(28, "No space left on device")
