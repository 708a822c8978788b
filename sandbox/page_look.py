"""Measure a mounted page for the page judge: its pixels here, the rest in the browser, out of the page's reach."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sandbox.browser import Tab
from sandbox.limits import JUDGE_CPU_S
from sandbox.page_score import Checked, Look
from sandbox.pixels import used_share
from sandbox.processes import cpu_of

_WORLD = "judge"
_SLICE_S = 0.2
_LOOK = Path(__file__).with_name("page_look.js").read_text(encoding="utf-8")
# The page's clock stands still while it is looked at, so axe-core's timers must not wait for it.
_NO_CLOCK = "globalThis.setTimeout = (work) => (Promise.resolve().then(work), 0);"


class LookError(Exception):
    """A page could not be measured: the message says why."""


class PageJudge:
    """Measures the pages of a tab."""

    def __init__(self, tab: Tab) -> None:
        self._tab = tab
        self._world = 0  # of the document in the tab

    async def prepare(self, worker: Path) -> None:
        """Let axe-core run in a world of its own in every new document, before any script of the page."""
        axe = (worker / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")
        source = f"{_NO_CLOCK}\n{axe}\naxe.configure({{ noHtml: true }});"
        self._tab.cdp.on("Runtime.executionContextCreated", self._on_world)
        await self._tab.cdp.send("Page.addScriptToEvaluateOnNewDocument", {"source": source, "worldName": _WORLD})

    def _on_world(self, event: Mapping[str, Any]) -> None:
        context = event["context"]
        data = context.get("auxData", {})
        if context["name"] == _WORLD and data.get("type") == "isolated" and data.get("frameId") == self._tab.frame:
            self._world = context["id"]

    async def look(self, png: bytes) -> Look:
        """What can be said of the page as it stands; `png` is its screenshot. Raises LookError."""
        asked = {"expression": _LOOK, "contextId": self._world, "awaitPromise": True, "returnByValue": True}
        looking = asyncio.ensure_future(self._tab.cdp.send("Runtime.evaluate", asked))
        used = asyncio.ensure_future(asyncio.to_thread(used_share, png))  # meanwhile
        result = await _within_cpu(self._tab, looking)
        if "exceptionDetails" in result:
            raise LookError(f"axe-core fails on it: {_message(result['exceptionDetails'])}")
        found = result["result"]["value"]
        return Look(
            used=await used,
            contrast=_checked(found["contrast"]),
            names=_checked(found["names"]),
            width=round(found["width"]),
            shown=found["shown"],
            cut=found["cut"]["count"],
            cut_examples=tuple(found["cut"]["examples"]),
        )


async def _within_cpu(tab: Tab, work: asyncio.Future[dict[str, Any]]) -> dict[str, Any]:
    """The result of `work`, which may take so much time on a CPU (on a clock's, a busy machine would decide)."""
    begun = None
    try:
        while True:
            await asyncio.wait({work}, timeout=_SLICE_S)
            if work.done():
                return work.result()
            used = tab.used(cpu_of)
            begun = used if begun is None else begun  # not looked up before: nearly all are done by now
            if used - begun > JUDGE_CPU_S:
                await tab.cdp.send("Runtime.terminateExecution")
                raise LookError(f"axe-core did not end within {JUDGE_CPU_S:g} s on a CPU")
    finally:
        work.cancel()


def _checked(found: Mapping[str, Any]) -> Checked:
    return Checked(found["good"], found["bad"], found["unknown"], tuple(found["examples"]))


def _message(details: Mapping[str, Any]) -> str:
    said = details.get("exception", {}).get("description") or details.get("text", "error")
    return " ".join(str(said).partition("\n")[0].split())[:200]
