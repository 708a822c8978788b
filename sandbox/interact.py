"""Check requirements on a mounted page: look, click and type, by the browser's own input."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from playwright.async_api import CDPSession, Error

from sandbox.outcome import RequirementResult
from sandbox.requirements import Node, Snapshot, expected, matching, nodes_of, normal, static

Settle = Callable[[], Awaitable[None]]

# Evaluated in a JavaScript world of our own, where the page's changes to prototypes do not reach.
_TEXT = """(() => {
  const values = [...document.querySelectorAll("input, textarea, select")]
    .filter((e) => e.checkVisibility() && !["hidden", "checkbox", "radio", "range", "password"].includes(e.type))
    .map((e) => e.tagName === "SELECT" ? e.selectedOptions[0]?.text ?? "" : e.value);
  return [document.body?.innerText ?? "", ...values].join("\\n");
})()"""

_PLACE = """function () {
  this.scrollIntoView({ block: "center", inline: "center", behavior: "instant" });
  const box = [...this.getClientRects()].find((r) => r.width > 1 && r.height > 1);
  return box ? [box.x + box.width / 2, box.y + box.height / 2] : null;
}"""

_SET = """function (value) {
  if (this.tagName === "SELECT") {
    const same = (a) => a.trim().toLowerCase() === value.trim().toLowerCase();
    const option = [...this.options].find((o) => same(o.text) || same(o.value));
    if (!option) return "no option " + value;
    this.value = option.value;
  } else if (this.tagName === "INPUT" || this.tagName === "TEXTAREA") {
    this.value = value;
  } else {
    return null;
  }
  this.dispatchEvent(new Event("input", { bubbles: true }));
  this.dispatchEvent(new Event("change", { bubbles: true }));
  return "";
}"""

_PRESS = "function () { this.focus(); this.click(); }"
_TYPED = """function () {
  this.focus();
  if (this.select) this.select();
  return this.tagName === "TEXTAREA" || this.isContentEditable ||
    (this.tagName === "INPUT" && ["text", "search", "email", "tel", "url", "password"].includes(this.type));
}"""


async def check(
    cdp: CDPSession,
    frame: str,
    requirements: Sequence[Mapping[str, Any]],
    settle: Settle,
    results: dict[int, RequirementResult],
) -> None:
    """Put a result for each requirement into `results`, as soon as it is known (a page can hang when it is used).

    First the page is looked at, then it is used, row by row.
    """
    hand = _Hand(cdp, frame, settle)
    page = await hand.look()
    uses = [i for i, r in enumerate(requirements) if r["check"] in ("click", "type")]
    for i, requirement in enumerate(requirements):
        if i not in uses:
            results[i] = static(requirement, page)
    for i in uses:
        results[i], page = await hand.use(requirements[i], page)


class _Hand:
    def __init__(self, cdp: CDPSession, frame: str, settle: Settle) -> None:
        self._cdp = cdp
        self._frame = frame
        self._settle = settle
        self._world: int | None = None

    async def look(self) -> Snapshot:
        world = await self._own_world()
        tree, result = await asyncio.gather(
            self._cdp.send("Accessibility.getFullAXTree"),
            self._cdp.send("Runtime.evaluate", {"expression": _TEXT, "contextId": world, "returnByValue": True}),
        )
        return Snapshot(nodes_of(tree["nodes"]), str(result["result"].get("value", "")))

    async def use(self, requirement: Mapping[str, Any], before: Snapshot) -> tuple[RequirementResult, Snapshot]:
        """Click or type as a requirement says; returns its result and the page as it is then."""
        try:
            problem = await self._click(before, requirement) if requirement["check"] == "click" else ""
            if requirement["check"] == "type":
                problem = await self._type(before, requirement)
            if problem:
                return RequirementResult(False, problem), before
            await self._settle()
            after = await self.look()
        except Error as error:
            self._world = None
            return RequirementResult(False, f"the page went away: {error.message.splitlines()[0]}"), Snapshot((), "")
        return expected(requirement["expect"], before, after), after

    async def _click(self, page: Snapshot, target: Mapping[str, Any]) -> str:
        node = _nth(page, target)
        if isinstance(node, str):
            return node
        await self._press(node)
        return ""

    async def _press(self, node: Node) -> None:
        place = await self._call(node, _PLACE)
        if place is None:  # a hidden check box under a painted one: there is nothing to hit
            await self._call(node, _PRESS)
            return
        x, y = place
        at = {"x": x, "y": y, "button": "left", "clickCount": 1}
        events = {"type": "mouseMoved", "x": x, "y": y}, {"type": "mousePressed", **at}, {"type": "mouseReleased", **at}
        await asyncio.gather(*(self._cdp.send("Input.dispatchMouseEvent", event) for event in events))

    async def _type(self, page: Snapshot, requirement: Mapping[str, Any]) -> str:
        node = _nth(page, requirement)
        if isinstance(node, str):
            return node
        if await self._call(node, _TYPED):
            await self._cdp.send("Input.insertText", {"text": requirement["value"]})
        elif problem := await self._set(page, node, requirement["value"]):
            return problem
        if "click" not in requirement:
            return ""
        await self._settle()  # a button may have become enabled, or have appeared
        return await self._click(await self.look(), requirement["click"])

    async def _set(self, page: Snapshot, node: Node, value: str) -> str:
        problem = await self._call(node, _SET, value)
        if problem is not None:
            return str(problem)
        return await self._choose(page, node, value) if node.role == "combobox" else "it is not a field that can be set"

    async def _choose(self, page: Snapshot, node: Node, value: str) -> str:
        """Open a list that the page draws itself (shadcn's Select), and click one of its options."""
        await self._press(node)
        await self._settle()
        there = {each.dom for each in page.nodes}
        options = [each for each in (await self.look()).nodes if each.role == "option"]
        options = [each for each in options if each.dom not in there] or options  # other lists have options, too
        option = next((each for each in options if normal(each.name) == normal(value)), None)
        await self._press(option or node)  # without it: close the list again
        if option is not None:
            return ""
        await self._settle()
        return f"no option {value}"

    async def _call(self, node: Node, function: str, *args: str) -> Any:
        world = await self._own_world()
        found = await self._cdp.send("DOM.resolveNode", {"backendNodeId": node.dom, "executionContextId": world})
        result = await self._cdp.send(
            "Runtime.callFunctionOn",
            {
                "functionDeclaration": function,
                "objectId": found["object"]["objectId"],
                "arguments": [{"value": a} for a in args],
                "returnByValue": True,
            },
        )
        return result["result"].get("value")

    async def _own_world(self) -> int:
        if self._world is None:
            made = await self._cdp.send("Page.createIsolatedWorld", {"frameId": self._frame, "worldName": "sandbox"})
            self._world = int(made["executionContextId"])
        return self._world


def _nth(page: Snapshot, target: Mapping[str, Any]) -> Node | str:
    found = matching(page, target["role"], target.get("name"))
    nth = int(target.get("nth", 0))
    if nth < len(found):
        return found[nth]
    name = f" {target['name']!r}" if target.get("name") else ""
    return f"there is no {target['role']}{name}" + (f" number {nth + 1}" if nth else "")
