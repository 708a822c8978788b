"""What the self-contained pages (report, gallery) share: how data travels in them, and how they are written.

What a model wrote never becomes markup: it travels as deflated JSON in base64, so no text can close the script element
that carries it, and the pages' scripts only ever set text. A content security policy forbids every request.
"""

from __future__ import annotations

import base64
import json
import os
import tempfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jinja2

from bot_grpo.errors import UserError


def check_name(target: Path) -> None:
    """Raise `UserError` unless `target` is called like a page."""
    if target.suffix.lower() not in {".html", ".htm"}:
        raise UserError(f"{target} must end in .html, so that no other file is overwritten by accident")


def check_writable(*targets: Path | None) -> None:
    """Raise `UserError` before the work for a file that could not be written after it; None is left out.

    A file is made and taken away again: rights alone say nothing to root, or of /proc.
    """
    for target in targets:
        if target is None:
            continue
        if not target.parent.is_dir():
            raise UserError(f"cannot write {target}: there is no folder {target.parent}")
        if target.is_dir():
            raise UserError(f"cannot write {target}: it is a folder")
        try:
            handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.stem[:40]}-")
            os.close(handle)
            os.unlink(name)
        except OSError as error:
            raise UserError(f"cannot write {target}: {error.strerror or error}") from error


def check_folder(target: Path) -> None:
    """The same for a folder, which may be there or have to be made; none is made here."""
    place = target.absolute()
    nearest = next(folder for folder in (place, *place.parents) if folder.exists())
    if not nearest.is_dir():
        raise UserError(f"cannot write {target}: {nearest} is a file")
    try:
        check_writable(nearest / "file")
    except UserError as error:
        raise UserError(f"cannot write {target}: {str(error).rpartition(': ')[2]}") from error


def deflate(value: Any) -> str:
    """JSON (ASCII, so a lone surrogate or a NUL is an escape), deflated, in base64."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(zlib.compress(text.encode("ascii"), 9)).decode("ascii")


def render(template: str, *, styles: Sequence[str], scripts: Sequence[str], **context: Any) -> bytes:
    """The page, with these files of bot_grpo/templates inlined as `style` and `script`."""
    loader = jinja2.PackageLoader("bot_grpo")
    environment = jinja2.Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True)

    def joined(names: Sequence[str]) -> str:
        return "\n".join(loader.get_source(environment, name)[0] for name in names)

    page = environment.get_template(template).render(style=joined(styles), script=joined(scripts), **context)
    return page.encode("utf-8", errors="replace")  # a lone surrogate in a setting's or a file's name


def write_page(target: Path, content: bytes) -> None:
    """All or nothing: an earlier page stays until the new one is complete. Raises `UserError`."""
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.stem}-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            os.chmod(name, 0o644)
            os.replace(name, target)
        except BaseException:
            os.unlink(name)
            raise
    except OSError as error:
        raise UserError(f"cannot write {target}: {error.strerror or error}") from error
