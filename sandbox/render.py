"""Render one component after the other in a headless Chromium. Runs in a process of its own (`render_worker`).

The mode: one page, navigated to about:blank for every component, so each has a fresh global object and an origin
that it shares with nobody. Time is Chromium's virtual time: timers run ahead without waiting, and the end of
the budget is an event that comes from the browser and not from the page. Errors come from CDP events, a failed mount
through a function whose name the page cannot guess, blankness from the screenshot's pixels.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import json
import os
import re
import secrets
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from playwright.async_api import Browser, BrowserContext, CDPSession, Error, Playwright

from sandbox.interact import check
from sandbox.limits import AFTER_CLICK_MS, MEMORY, PATIENCE, RECYCLE_AFTER, VIRTUAL_MS
from sandbox.outcome import RequirementResult, Status
from sandbox.page import SOURCE_URL, Names, document, extra_bundle_call, first_script, readable, start_call
from sandbox.pixels import is_uniform
from sandbox.processes import cpu_of, descendants, kill_tree, memory_of

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
    # a component that fills its memory ends soon
    "--js-flags=--max-old-space-size=512",
)
_SLICE_S = 0.3
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
    crashed: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    rendered: int = 0
    # of the component that is there now:
    step: str = ""
    loaders: set[str] = field(default_factory=set)  # documents that came up
    uncaught: bool = False
    troubles: list[Trouble] = field(default_factory=list)
    shown: Rendered | None = None
    results: dict[int, RequirementResult] = field(default_factory=dict)

    def renew(self) -> None:
        self.rendered += 1
        self.uncaught, self.shown = False, None
        self.loaders, self.troubles, self.results = set(), [], {}


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
        self._always = json.loads((worker / "libraries.json").read_text(encoding="utf-8"))["always"]
        bundles = [(self._vendor / f"{name}.js").read_text(encoding="utf-8") for name in self._always]
        self._first_script = first_script(worker, "\n".join(bundles), self._names)
        self._browser: Browser | None = None
        self._browser_pids: list[int] = []
        self._page: _Page | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Start the browser now; raises playwright's Error, or TimeoutError, when that cannot be done."""
        self._page = await asyncio.wait_for(self._new_page(), 60)

    async def render(self, job: Job) -> Rendered:
        """Mount a component and look at it. Ends within the job's time-out and the few seconds a new browser takes.

        Raises OSError when the screenshot cannot be written.
        """
        page = await self._ready_page()
        page.renew()
        work = asyncio.ensure_future(self._run(page, job))
        try:
            ending = await self._watched(page, work, job.timeout_s)
            if ending is None:
                return work.result()
        except Error as error:  # the page went away under our hands
            ending = Rendered(Status.CRASHED, (Trouble(error.message.partition("\n")[0]),))
        finally:
            if not work.done() or work.cancelled() or work.exception() is not None:
                work.cancel()
                await self._drop_page()
                await asyncio.gather(work, return_exceptions=True)
        if page.shown is None:
            return replace(ending, troubles=(*ending.troubles, *page.troubles[:3]))
        why = "the page hung" if ending.status is Status.TIMEOUT else "the page crashed"
        return _with_results(page, job, why)

    async def _watched(self, page: _Page, work: asyncio.Future[Rendered], timeout_s: float) -> Rendered | None:
        """Wait for `work`; returns None when it is done, and how it ended when it had to be given up.

        On a busy machine an honest component can be slow for no fault of its own: one that has had less than half of
        its time on a CPU gets up to PATIENCE times as long.
        """
        begun, cpu = time.monotonic(), None
        while True:
            passed = time.monotonic() - begun
            end = timeout_s if passed < timeout_s else timeout_s * PATIENCE
            slice_s = min(max(end - passed, 0), _SLICE_S)
            waited: set[asyncio.Future[Any]] = {work, page.crashed}
            await asyncio.wait(waited, timeout=slice_s, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                return None
            if page.crashed.done():
                return Rendered(Status.CRASHED, (Trouble("the page's process died (out of memory?)"),))
            if self._used(memory_of) > MEMORY:
                return Rendered(Status.CRASHED, (Trouble(f"needed more than {MEMORY >> 30} GB of memory"),))
            used = self._used(cpu_of)
            cpu = used if cpu is None else cpu  # not looked up before: most components are done by now
            passed = time.monotonic() - begun
            starved = used - cpu < timeout_s / 2 - _SLICE_S and passed < timeout_s * PATIENCE
            if passed >= timeout_s and not starved:
                return Rendered(Status.TIMEOUT, (Trouble(f"did not settle within {timeout_s:g} s ({page.step})"),))

    async def _run(self, page: _Page, job: Job) -> Rendered:
        cdp = page.cdp
        page.step = "opening the page"
        opened = await cdp.send("Page.navigate", {"url": "about:blank"})
        for bundle in job.bundles:
            if bundle not in self._always:
                source = (self._vendor / f"{bundle}.js").read_text(encoding="utf-8")
                await cdp.send("Runtime.evaluate", {"expression": extra_bundle_call(source, self._names)})
        page.step = "running the module"
        call = start_call(document(job.css), job.script, self._names)
        result = await cdp.send("Runtime.evaluate", {"expression": call})
        if "exceptionDetails" in result:
            return Rendered(Status.RUNTIME_ERROR, (_trouble(result["exceptionDetails"]),))
        page.step = "mounting"
        await settle(page, VIRTUAL_MS)
        page.step = "taking the screenshot"
        shot = await cdp.send("Page.captureScreenshot", {"format": "png", "optimizeForSpeed": True})
        page.shown = self._seen(page, base64.b64decode(shot["data"]), opened["loaderId"])
        if page.shown.status is not Status.OK or not job.requirements:
            return page.shown
        await check(cdp, page.frame, job.requirements, lambda: settle(page, AFTER_CLICK_MS), page.results)
        return _with_results(page, job, "")

    def _seen(self, page: _Page, png: bytes, loader: str) -> Rendered:
        troubles = tuple(page.troubles[:5])
        if page.uncaught:
            return Rendered(Status.RUNTIME_ERROR, troubles or (Trouble("the component threw"),))
        path = self._save(png)
        if page.loaders - {loader}:
            return Rendered(Status.BLANK, (Trouble("the component left its page"), *troubles), screenshot=path)
        if is_uniform(png):
            return Rendered(Status.RUNTIME_ERROR if troubles else Status.BLANK, troubles, screenshot=path)
        return Rendered(Status.OK, troubles, screenshot=path)

    def _used(self, measure: Callable[[int], float]) -> float:
        """What all processes of the browser hold or have used."""
        return sum(measure(pid) for pid in {each for root in self._browser_pids for each in (root, *descendants(root))})

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
        )
        tab = await context.new_page()
        context.on("page", lambda popup: self._start(_close(popup)))
        cdp = await context.new_cdp_session(tab)
        tree = await cdp.send("Page.getFrameTree")
        page = _Page(context, cdp, tree["frameTree"]["frame"]["id"])

        def on_crash(_: Any) -> None:
            if not page.crashed.done():
                page.crashed.set_result(None)

        tab.on("crash", on_crash)
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
                page.loaders.add(event["frame"]["loaderId"])

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
    """Let the page's clock run on by `budget_ms`, then stop it.

    The clock moves when the page has nothing else to do, or after 50 tasks: one that draws frame after frame always has
    something to do on a slow machine.
    """
    page.settled.clear()
    policy = {"policy": "advance", "budget": budget_ms, "maxVirtualTimeTaskStarvationCount": 50}
    await page.cdp.send("Emulation.setVirtualTimePolicy", policy)
    await page.settled.wait()


def _with_results(page: _Page, job: Job, why: str) -> Rendered:
    """The page as it was seen, with a result for each requirement; those without one are not met."""
    assert page.shown is not None
    missing = RequirementResult(False, why)
    results = tuple(page.results.get(i, missing) for i in range(len(job.requirements)))
    return replace(page.shown, requirements=results)


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
