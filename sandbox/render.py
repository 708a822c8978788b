"""Render one component after the other in a headless Chromium. Runs in a process of its own (`render_worker`).

The mode: one page, navigated to about:blank for every component, so each has a fresh global object and an origin
that it shares with nobody. Time is Chromium's virtual time: timers run ahead without waiting, `Date` is the same each time, and
the end of the budget is an event that comes from the browser and not from the page. Errors come from CDP events, the
mount's failure through a function whose name the page cannot guess, blankness from the screenshot's pixels.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import os
import re
import secrets
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.async_api import Browser, BrowserContext, CDPSession, Error, Playwright

from sandbox.interact import check
from sandbox.outcome import RequirementResult, Status
from sandbox.page import SOURCE_URL, Names, document, extra_bundle_call, first_script, readable, start_call
from sandbox.pixels import is_uniform
from sandbox.processes import descendants, kill_tree

FLAGS = (
    # the same pixels everywhere
    "--hide-scrollbars",
    "--force-color-profile=srgb",
    "--disable-lcd-text",
    "--font-render-hinting=none",
    "--disable-partial-raster",
    "--disable-skia-runtime-opts",
    # no way out: every connection goes to a proxy that is not there, no name resolves, WebRTC has no other way
    "--proxy-server=http://127.0.0.1:1",
    "--proxy-bypass-list=<-loopback>",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--force-webrtc-ip-handling-policy",
)
VIRTUAL_MS = 2000
"""How far a page's clock runs before the screenshot: long enough for the loading screens that apps pretend to have."""
AFTER_CLICK_MS = 600
RECYCLE_AFTER = 200
_CLOSE_S = 2.0


@dataclass(frozen=True)
class Job:
    """A compiled component and what to look for. `timeout_s` is wall-clock time, on a clock the page cannot stop."""

    script: str
    css: str = ""
    bundles: tuple[str, ...] = ()
    requirements: tuple[Mapping[str, Any], ...] = ()
    timeout_s: float = 5.0


@dataclass(frozen=True)
class Trouble:
    """An error in the page: its message, and its place in the script (line from 1, column from 0) if it is known."""

    message: str
    line: int | None = None
    column: int = 0


@dataclass(frozen=True)
class Rendered:
    status: Status
    troubles: tuple[Trouble, ...] = ()
    requirements: tuple[RequirementResult, ...] = ()
    screenshot: Path | None = None


@dataclass
class _Page:
    context: BrowserContext
    cdp: CDPSession
    frame: str
    settled: asyncio.Event = field(default_factory=asyncio.Event)
    uncaught: bool = False
    left: bool = False
    crashed: asyncio.Event = field(default_factory=asyncio.Event)
    troubles: list[Trouble] = field(default_factory=list)
    rendered: int = 0


class Renderer:
    """A browser and its page, started when first needed and replaced when they misbehave or grow old."""

    def __init__(
        self, playwright: Playwright, worker: Path, *, chromium: Path | None, screenshots: Path | None
    ) -> None:
        self._playwright = playwright
        self._chromium = chromium
        self._screenshots = screenshots
        self._names = Names(f"_{secrets.token_hex(12)}", f"_{secrets.token_hex(12)}")
        self._vendor = worker / "vendor"
        self._first_script = first_script(worker, (self._vendor / "react.js").read_text(encoding="utf-8"), self._names)
        self._browser: Browser | None = None
        self._browser_pids: list[int] = []
        self._page: _Page | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Start the browser now; raises playwright's Error, or TimeoutError, when that cannot be done."""
        self._page = await asyncio.wait_for(self._new_page(), 60)

    async def render(self, job: Job) -> Rendered:
        """Mount a component and look at it. Ends within the job's time-out and the few seconds a new browser takes."""
        page = await self._ready_page()
        crash = asyncio.ensure_future(page.crashed.wait())
        work = asyncio.ensure_future(self._run(page, job))
        try:
            await asyncio.wait({work, crash}, timeout=job.timeout_s, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                return work.result()
            if crash.done():
                return Rendered(Status.CRASHED, (Trouble("the page's process died (out of memory?)"),))
            return Rendered(Status.TIMEOUT, (Trouble(f"did not settle within {job.timeout_s:g} s"), *page.troubles[:3]))
        finally:
            if not (work.done() and not work.cancelled() and work.exception() is None):
                work.cancel()
                await self._drop_page()
            crash.cancel()
            await asyncio.gather(work, crash, return_exceptions=True)

    async def _run(self, page: _Page, job: Job) -> Rendered:
        cdp = page.cdp
        page.uncaught, page.left, page.troubles = False, False, []
        page.rendered += 1
        await cdp.send("Page.navigate", {"url": "about:blank"})
        await cdp.send("Page.setDocumentContent", {"frameId": page.frame, "html": document(job.css)})
        page.left = False
        for bundle in job.bundles:
            if bundle != "react":
                source = (self._vendor / f"{bundle}.js").read_text(encoding="utf-8")
                await cdp.send("Runtime.evaluate", {"expression": extra_bundle_call(source, self._names)})
        result = await cdp.send("Runtime.evaluate", {"expression": start_call(job.script, self._names)})
        if "exceptionDetails" in result:
            return Rendered(Status.RUNTIME_ERROR, (_trouble(result["exceptionDetails"]),))
        await settle(page, VIRTUAL_MS)
        shot = await cdp.send("Page.captureScreenshot", {"format": "png", "optimizeForSpeed": True})
        png = base64.b64decode(shot["data"])
        troubles = tuple(page.troubles[:5])
        if page.uncaught:
            return Rendered(Status.RUNTIME_ERROR, troubles or (Trouble("the component threw"),))
        path = self._save(png)
        if page.left:
            return Rendered(Status.BLANK, (Trouble("the component left its page"), *troubles), screenshot=path)
        if is_uniform(png):
            status = Status.RUNTIME_ERROR if troubles else Status.BLANK
            return Rendered(status, troubles, screenshot=path)
        results: tuple[RequirementResult, ...] = ()
        if job.requirements:
            results = await check(cdp, page.frame, job.requirements, lambda: settle(page, AFTER_CLICK_MS))
        return Rendered(Status.OK, troubles, results, path)

    def _save(self, png: bytes) -> Path | None:
        if self._screenshots is None:
            return None
        path = self._screenshots / f"{hashlib.sha256(png).hexdigest()[:32]}.png"
        if not path.exists():
            part = path.with_suffix(f".{os.getpid()}.part")
            part.write_bytes(png)
            part.replace(path)
        return path

    async def _ready_page(self) -> _Page:
        if self._page is not None and self._page.rendered >= RECYCLE_AFTER:
            await self.close()
        if self._page is None:
            try:
                self._page = await asyncio.wait_for(self._new_page(), 10 if self._browser else 60)
            except (Error, TimeoutError):
                await self.close()
                self._page = await self._new_page()
        return self._page

    async def _new_page(self) -> _Page:
        if self._browser is None:
            before = set(descendants(os.getpid()))
            self._browser = await self._playwright.chromium.launch(
                executable_path=self._chromium,
                args=list(FLAGS),
                chromium_sandbox=os.geteuid() != 0,
                ignore_default_args=["--disable-popup-blocking"],
            )
            self._browser_pids = [pid for pid in descendants(os.getpid()) if pid not in before]
        context = await self._browser.new_context(
            viewport={"width": 1280, "height": 800},
            device_scale_factor=1,
            reduced_motion="reduce",
            locale="en-US",
            timezone_id="UTC",
            accept_downloads=False,
            offline=True,
        )
        tab = await context.new_page()
        context.on("page", lambda popup: self._start(_close(popup)))
        cdp = await context.new_cdp_session(tab)
        tree = await cdp.send("Page.getFrameTree")
        page = _Page(context, cdp, tree["frameTree"]["frame"]["id"])
        tab.on("crash", lambda _: page.crashed.set())
        self._listen(page)
        for method, params in (
            ("Page.enable", {}),
            ("Runtime.enable", {}),
            ("Runtime.addBinding", {"name": self._names.report}),
            ("Page.addScriptToEvaluateOnNewDocument", {"source": self._first_script}),
            ("Fetch.enable", {"patterns": [{"urlPattern": "*", "resourceType": "Document"}]}),
            ("Emulation.setVirtualTimePolicy", {"policy": "pause", "initialVirtualTime": 1767258000}),
        ):
            await cdp.send(method, params)
        return page

    def _listen(self, page: _Page) -> None:
        def on_exception(event: Mapping[str, Any]) -> None:
            if len(page.troubles) < 20:
                page.troubles.append(_trouble(event["exceptionDetails"]))

        def on_binding(event: Mapping[str, Any]) -> None:
            if event["name"] == self._names.report:
                page.uncaught = True

        def on_navigated(event: Mapping[str, Any]) -> None:
            if event["frame"]["id"] == page.frame:
                page.left = True

        def on_request(event: Mapping[str, Any]) -> None:
            self._start(_refuse(page.cdp, event["requestId"]))

        page.cdp.on("Runtime.exceptionThrown", on_exception)
        page.cdp.on("Runtime.bindingCalled", on_binding)
        page.cdp.on("Page.frameNavigated", on_navigated)
        page.cdp.on("Fetch.requestPaused", on_request)
        page.cdp.on("Emulation.virtualTimeBudgetExpired", lambda _: page.settled.set())

    async def _drop_page(self) -> None:
        page, self._page = self._page, None
        if page is None:
            return
        try:
            await asyncio.wait_for(page.context.close(), _CLOSE_S)
        except (Error, TimeoutError):
            await self.close()

    async def close(self) -> None:
        """End the browser, by asking and then by force."""
        browser, self._browser, self._page = self._browser, None, None
        if browser is not None:
            with contextlib.suppress(Error, TimeoutError):
                await asyncio.wait_for(browser.close(), _CLOSE_S)
            for pid in self._browser_pids:
                kill_tree(pid)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def version(self) -> str:
        return self._browser.version if self._browser is not None else ""


async def settle(page: _Page, budget_ms: int) -> None:
    """Let the page's clock run on by `budget_ms`, then stop it."""
    page.settled.clear()
    policy = {"policy": "advance", "budget": budget_ms, "maxVirtualTimeTaskStarvationCount": 500}
    await page.cdp.send("Emulation.setVirtualTimePolicy", policy)
    await page.settled.wait()


async def _refuse(cdp: CDPSession, request: str) -> None:
    with contextlib.suppress(Error):
        await cdp.send("Fetch.failRequest", {"requestId": request, "errorReason": "Aborted"})


async def _close(popup: Any) -> None:
    with contextlib.suppress(Error):
        await popup.close()


_FRAME = re.compile(re.escape(SOURCE_URL) + r":(\d+):(\d+)")


def _trouble(details: Mapping[str, Any]) -> Trouble:
    """The message of a CDP exception, and the top-most place in the component's own script."""
    exception = details.get("exception", {})
    described = str(exception.get("description") or exception.get("value") or details.get("text", "error"))
    message = readable(described)
    frames = details.get("stackTrace", {}).get("callFrames", [])
    own: Sequence[Mapping[str, Any]] = [f for f in frames if f.get("url") == SOURCE_URL]
    if found := _FRAME.search(described):
        return Trouble(message, int(found[1]), int(found[2]) - 1)
    if own:
        return Trouble(message, own[0]["lineNumber"] + 1, own[0]["columnNumber"])
    if details.get("url") == SOURCE_URL:
        return Trouble(message, details["lineNumber"] + 1, details["columnNumber"])
    return Trouble(message)
