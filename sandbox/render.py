"""Render one component after the other in a headless Chromium. Runs in a process of its own (`render_worker`).

The mode: one page, navigated to about:blank for every component, so each has a fresh global object and an origin
that it shares with nobody. Time is Chromium's virtual time: timers run ahead without waiting, and the end of
the budget is an event that comes from the browser and not from the page. Errors come from CDP events, a failed mount
through a function whose name the page cannot guess, blankness from the screenshot's pixels.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import os
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from playwright.async_api import Error, Playwright

from sandbox.browser import Tab, Trouble, open_tab, trouble
from sandbox.interact import check
from sandbox.limits import AFTER_CLICK_MS, MEMORY, PATIENCE, RECYCLE_AFTER, VIRTUAL_MS
from sandbox.outcome import PageScore, RequirementResult, Status
from sandbox.page import Names, document, extra_bundle_call, first_script, start_call
from sandbox.page_look import LookError, PageJudge
from sandbox.page_score import Look, blank, page_score
from sandbox.pixels import is_uniform
from sandbox.processes import cpu_of, memory_of, waited_of

_START_S = 60.0
_SLICE_S = 0.3
_LOOK_EVERY = 10  # components
_OPENING = "opening the page"  # what hangs there is the last component's doing


@dataclass(frozen=True)
class Job:
    """A compiled component and what to look for. Times are wall-clock time, on a clock the page cannot stop.

    `timeout_s` is what it may take to be mounted, looked at and used, all together; `patience_s` (0: PATIENCE times
    as long) where the machine is busy.
    """

    script: str
    css: str = ""
    bundles: tuple[str, ...] = ()
    requirements: tuple[Mapping[str, Any], ...] = ()
    timeout_s: float = 5.0
    patience_s: float = 0.0


@dataclass(frozen=True)
class Rendered:
    """How a page ended.

    `stalled`: it was given up through no fault of its own, as far as one can tell: it is worth another try.
    `spent`: the renderer cannot be used again.
    """

    status: Status
    troubles: tuple[Trouble, ...] = ()
    requirements: tuple[RequirementResult, ...] = ()
    screenshot: Path | None = None
    page: PageScore | None = None
    page_reason: str = ""
    stalled: bool = False
    spent: bool = False


class Renderer:
    """A browser and its page."""

    def __init__(
        self,
        worker: Path,
        screenshots: Path | None,
        *,
        judge: bool = False,
        memory: int = MEMORY,
        recycle_after: int = RECYCLE_AFTER,
    ) -> None:
        self._worker = worker
        self._judging = judge
        self._judge: PageJudge | None = None
        self._screenshots = screenshots
        self._memory = memory
        self._recycle_after = recycle_after
        self._names = Names(f"_{secrets.token_hex(12)}", f"_{secrets.token_hex(12)}")
        self._vendor = worker / "vendor"
        self._always = json.loads((worker / "libraries.json").read_text(encoding="utf-8"))["always"]
        self._first_script = first_script(worker, "\n".join(map(self._bundle, self._always)), self._names)
        self._rendered = 0

    def _bundle(self, name: str) -> str:
        return (self._vendor / f"{name}.js").read_text(encoding="utf-8")

    async def start(self, playwright: Playwright, chromium: Path | None) -> str:
        """Start the browser; returns its version. Raises playwright's Error, or TimeoutError."""
        opening = open_tab(playwright, chromium, self._names, self._first_script)
        self._tab = await asyncio.wait_for(opening, _START_S)
        if self._judging:
            self._judge = PageJudge(self._tab)
            await self._judge.prepare(self._worker)
        self._opening = asyncio.ensure_future(self._tab.open())
        return self._tab.browser.version

    async def stop(self) -> None:
        """End the browser. (The render process does not ask: it kills everything.)"""
        self._opening.cancel()
        await self._tab.browser.close()

    async def render(self, job: Job) -> Rendered:
        """Mount a component and look at it, within the job's time-out.

        Where the answer is `spent`, what is left of the page is best ended with everything around it: it may hang, or
        have flooded its host. Raises OSError when the screenshot cannot be written.
        """
        self._rendered += 1
        view = _View(self._tab, self._screenshots, job, self._judge)
        work = asyncio.ensure_future(self._run(view))
        try:
            ending = await self._watched(view, work)
            if ending is None:
                rendered = replace(work.result(), spent=self._worn())
                self._opening = asyncio.ensure_future(self._tab.open())  # while nobody waits for it
                return rendered
        except Error as error:  # the page went away under our hands
            ending = Rendered(Status.CRASHED, (Trouble(error.message.partition("\n")[0]),))
        finally:
            work.cancel()
        if view.shown is None:
            return replace(ending, troubles=(*ending.troubles, *self._tab.troubles[:3]), spent=True)
        why = "the page hung" if ending.status is Status.TIMEOUT else "the page crashed"
        again = ending.stalled or ending.status is Status.CRASHED  # which may have been somebody else's doing
        return replace(view.with_results(why), stalled=again, spent=True)

    def _worn(self) -> bool:
        """Whether the browser has rendered enough, or holds so much that the next component would suffer for it."""
        look = self._rendered % _LOOK_EVERY == 0
        return self._rendered >= self._recycle_after or (look and self._tab.used(memory_of) > self._memory / 2)

    async def _watched(self, view: _View, work: asyncio.Future[Rendered]) -> Rendered | None:
        """Wait for `work`; returns None when it is done, and how it ended when it had to be given up.

        On a busy machine an honest component can be slow for no fault of its own. It is given up when it has had half
        of its time on a CPU, or all of it without anybody waiting for a CPU (it hangs), and at the latest after
        `patience_s`; in the last two cases the ending is called stalled.
        """
        timeout_s = view.job.timeout_s
        patience_s = view.job.patience_s or timeout_s * PATIENCE
        begun, at_first = time.monotonic(), None
        ends: set[asyncio.Future[Any]] = {work, self._tab.crashed}
        while True:
            passed = time.monotonic() - begun
            end = timeout_s if passed < timeout_s else patience_s
            slice_s = min(max(end - passed, 0.01), _SLICE_S)
            await asyncio.wait(ends, timeout=slice_s, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                return None
            if self._tab.crashed.done():
                return Rendered(Status.CRASHED, (Trouble("the page's process died (out of memory?)"),))
            if self._tab.used(memory_of) > self._memory:
                return Rendered(Status.CRASHED, (Trouble(f"needed more than {self._memory / 2**30:g} GB of memory"),))
            now = self._tab.used(cpu_of), self._tab.used(waited_of)
            at_first = at_first or now  # not looked up before: most components are done by now
            passed = time.monotonic() - begun
            ran = now[0] - at_first[0] >= timeout_s / 2 - _SLICE_S
            idle = passed - (now[1] - at_first[1]) >= timeout_s
            if passed >= timeout_s and (ran or idle or passed >= patience_s):
                busy = "" if ran or idle else ", and not in more on a busy machine"
                why = Trouble(f"did not settle within {timeout_s:g} s{busy} ({view.step})")
                return Rendered(Status.TIMEOUT, (why,), stalled=not ran or view.step == _OPENING)

    async def _run(self, view: _View) -> Rendered:
        tab, job = self._tab, view.job
        view.step = _OPENING
        opened = await self._opening
        tab.renew()
        for bundle in job.bundles:
            if bundle not in self._always:
                call = extra_bundle_call(self._bundle(bundle), self._names)
                await tab.cdp.send("Runtime.evaluate", {"expression": call})
        view.step = "running the module"
        call = start_call(document(job.css), job.script, self._names)
        running = asyncio.ensure_future(tab.cdp.send("Runtime.evaluate", {"expression": call}))
        settling = asyncio.ensure_future(tab.settle(VIRTUAL_MS))  # right behind it: every answer is a wait
        result = await running
        if "exceptionDetails" in result:
            settling.cancel()
            await tab.stop_clock()
            return Rendered(Status.RUNTIME_ERROR, (trouble(result["exceptionDetails"]),))
        view.step = "mounting"
        await settling
        view.step = "taking the screenshot"
        shot = await tab.cdp.send("Page.captureScreenshot", {"format": "png", "optimizeForSpeed": True})
        png = base64.b64decode(shot["data"])
        shown = view.show(png, opened)
        if shown.status is not Status.OK:
            return shown
        await view.measure(png)
        if job.requirements:
            await check(tab.cdp, tab.frame, job.requirements, lambda: tab.settle(AFTER_CLICK_MS), view.results)
        return view.with_results("")


class _View:
    """What is known of the component that is being rendered."""

    def __init__(self, tab: Tab, screenshots: Path | None, job: Job, judge: PageJudge | None) -> None:
        self.job = job
        self.step = ""
        self.shown: Rendered | None = None
        self.results: dict[int, RequirementResult] = {}
        self._judge = judge
        self._look: Look | str = "the page hung when it was judged"  # what the page judge measured, or why it did not
        self._tab = tab
        self._screenshots = screenshots

    def show(self, png: bytes, document_id: str) -> Rendered:
        """Judge the mounted page: by what React and the browser reported, and by its pixels."""
        troubles = tuple(self._tab.troubles[:5])
        if self._tab.uncaught:
            self.shown = Rendered(Status.RUNTIME_ERROR, troubles or (Trouble("the component threw"),))
            return self.shown
        status = Status.OK
        if self._tab.documents - {document_id}:
            status, troubles = Status.BLANK, (Trouble("the component left its page"), *troubles)
        elif is_uniform(png):
            status = Status.RUNTIME_ERROR if troubles else Status.BLANK
        empty = self._judge is not None and status is Status.BLANK
        why = troubles[0].message if troubles else "every pixel has the same colour"
        self.shown = Rendered(status, troubles, screenshot=self._save(png), page=blank(why) if empty else None)
        return self.shown

    async def measure(self, png: bytes) -> None:
        """Take what the page judge needs (if there is one), before anybody uses the page."""
        if self._judge is None:
            return
        try:
            self._look = await self._judge.look(png)
        except (LookError, Error) as error:
            self._look = str(error).partition("\n")[0]

    def with_results(self, why: str) -> Rendered:
        """The page as it was seen, with a result for each requirement; one that has none is not met, and `why`."""
        assert self.shown is not None
        missing = RequirementResult(False, why)
        results = tuple(self.results.get(i, missing) for i in range(len(self.job.requirements)))
        rendered = replace(self.shown, requirements=results)
        if self._judge is None:
            return rendered
        if isinstance(self._look, str):
            return replace(rendered, page_reason=self._look)
        return replace(rendered, page=page_score(self._look, results, [t.message for t in self._tab.troubles]))

    def _save(self, png: bytes) -> Path | None:
        if self._screenshots is None:
            return None
        path = self._screenshots / f"{hashlib.sha256(png).hexdigest()[:32]}.png"
        if not path.exists():
            part = path.with_suffix(f".{os.getpid()}.part")
            part.write_bytes(png)
            part.replace(path)
        return path
