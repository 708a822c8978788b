"""A headless Chromium with one tab, shut off from the network, and what it tells of the page in it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.async_api import Browser, CDPSession, Error, Playwright

from sandbox.page import SOURCE_URL, Names, readable
from sandbox.processes import descendants

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
_EPOCH = 1767258000  # 2026-01-01 09:00 UTC
_STARVATION = 50


@dataclass(frozen=True)
class Trouble:
    """An error in the page: its message, and its place in the script (line from 1, column from 0) if it is known."""

    message: str
    line: int | None = None
    column: int = 0


class Tab:
    """The tab, and what came from the browser (never from the page's own words) since `renew`."""

    def __init__(self, browser: Browser, cdp: CDPSession, frame: str) -> None:
        self.browser = browser
        self.cdp = cdp
        self.frame = frame
        self.crashed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._settled = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self.renew()

    def renew(self) -> None:
        """Forget the last component."""
        self.troubles: list[Trouble] = []
        self.uncaught = False  # React gave up on the component's tree
        self.documents: set[str] = set()  # that came up in the tab

    async def settle(self, budget_ms: int) -> None:
        """Let the page's clock run on by `budget_ms`, then stop it.

        The clock moves when the page has nothing else to do, or after some tasks: one that draws frame after frame
        always has something to do on a slow machine.
        """
        self._settled.clear()
        policy = {"policy": "advance", "budget": budget_ms, "maxVirtualTimeTaskStarvationCount": _STARVATION}
        await self.cdp.send("Emulation.setVirtualTimePolicy", policy)
        await self._settled.wait()

    async def open(self) -> str:
        """Leave what there is for an empty page, and wait until that is there; returns its name among `documents`."""
        opened = await self.cdp.send("Page.navigate", {"url": "about:blank"})
        await self.cdp.send("Runtime.evaluate", {"expression": "0"})  # the last page may hang while it is left
        return str(opened["loaderId"])

    async def stop_clock(self) -> None:
        """Take back what `settle` asked for."""
        await self.cdp.send("Emulation.setVirtualTimePolicy", {"policy": "pause"})

    def used(self, measure: Callable[[int], float]) -> float:
        """The sum of `measure` over this process, the browser and what stands between them."""
        return sum(map(measure, (os.getpid(), *descendants(os.getpid()))))

    def listen(self, names: Names) -> None:
        """Take note of what the browser reports, and refuse what the page must not do."""

        def on_exception(event: Mapping[str, Any]) -> None:
            if len(self.troubles) < 20:
                self.troubles.append(trouble(event["exceptionDetails"]))

        def on_binding(event: Mapping[str, Any]) -> None:
            self.uncaught = self.uncaught or event["name"] == names.report

        def on_navigated(event: Mapping[str, Any]) -> None:
            if event["frame"]["id"] == self.frame:
                self.documents.add(event["frame"]["loaderId"])

        def on_request(event: Mapping[str, Any]) -> None:
            refusal = {"requestId": event["requestId"], "errorReason": "Aborted"}
            self.start(self.cdp.send("Fetch.failRequest", refusal))

        self.cdp.on("Runtime.exceptionThrown", on_exception)
        self.cdp.on("Runtime.bindingCalled", on_binding)
        self.cdp.on("Page.frameNavigated", on_navigated)
        self.cdp.on("Fetch.requestPaused", on_request)
        self.cdp.on("Emulation.virtualTimeBudgetExpired", lambda _: self._settled.set())

    def on_crash(self, _: object) -> None:
        if not self.crashed.done():
            self.crashed.set_result(None)

    def start(self, work: Coroutine[Any, Any, Any]) -> None:
        """Let something happen beside whatever else is going on; it may fail."""

        async def suppressed() -> None:
            with contextlib.suppress(Error):
                await work

        task = asyncio.ensure_future(suppressed())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def open_tab(playwright: Playwright, chromium: Path | None, names: Names, first_script: str) -> Tab:
    """Start a browser (None: Playwright's own) with one tab in which `first_script` runs first in every document."""
    browser = await playwright.chromium.launch(
        executable_path=chromium,
        args=list(FLAGS),
        chromium_sandbox=os.geteuid() != 0,
        ignore_default_args=["--disable-popup-blocking"],
    )
    context = await browser.new_context(
        viewport={"width": 1280, "height": 800},
        device_scale_factor=1,
        reduced_motion="reduce",
        locale="en-US",
        timezone_id="UTC",
        accept_downloads=False,
    )
    page = await context.new_page()
    cdp = await context.new_cdp_session(page)
    tree = await cdp.send("Page.getFrameTree")
    tab = Tab(browser, cdp, tree["frameTree"]["frame"]["id"])
    page.on("crash", tab.on_crash)
    context.on("page", lambda popup: tab.start(popup.close()))
    tab.listen(names)
    for method, params in (
        ("Page.enable", {}),
        ("Runtime.enable", {}),
        ("Runtime.addBinding", {"name": names.report}),
        ("Page.addScriptToEvaluateOnNewDocument", {"source": first_script}),
        ("Fetch.enable", {"patterns": [{"urlPattern": "*", "resourceType": "Document"}]}),
        ("Emulation.setVirtualTimePolicy", {"policy": "pause", "initialVirtualTime": _EPOCH}),
    ):
        await cdp.send(method, params)
    return tab


_FRAME = re.compile(re.escape(SOURCE_URL) + r":(\d+):(\d+)")


def trouble(details: Mapping[str, Any]) -> Trouble:
    """The message of a CDP exception, and the top-most place in the component's own script."""
    exception = details.get("exception", {})
    described = str(exception.get("description") or exception.get("value") or details.get("text", "error"))
    message = readable(described)
    if found := _FRAME.search(described):
        return Trouble(message, int(found[1]), int(found[2]) - 1)
    frames = [*details.get("stackTrace", {}).get("callFrames", []), details]
    for frame in frames:
        if frame.get("url") == SOURCE_URL:
            return Trouble(message, frame["lineNumber"] + 1, frame["columnNumber"])
    return Trouble(message)
