"""What a component's page consists of: its HTML, the script that runs first, and the call that starts the component."""

from __future__ import annotations

import html
import json
import re
from dataclasses import dataclass
from pathlib import Path

SOURCE_URL = "component.js"
"""The name under which the component's script shows up in stack traces."""

_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval' blob:; style-src 'unsafe-inline'; "
    "img-src data: blob:; font-src data:; media-src data: blob:; worker-src blob:; form-action 'none'; base-uri 'none'"
)

# Animations and transitions jump to their ends instead of being switched off: what fades in must end up visible. An
# animation that lasts, were it 1 ms, gets a layer of its own for a while, whose shadows differ in their last bit.
_STILL = """
*, *::before, *::after {
  animation-duration: 0s !important; animation-delay: 0s !important; animation-iteration-count: 1 !important;
  transition-duration: 0s !important; transition-delay: 0s !important;
  caret-color: transparent !important; scroll-behavior: auto !important;
}
"""


@dataclass(frozen=True)
class Names:
    """Two names that a page cannot guess: of the function that starts a component, and of the host's ear."""

    start: str
    report: str


def document(css: str) -> str:
    """An empty page with the component's style sheet."""
    safe = css.replace("</", "<\\/")
    return (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'><title>Component</title>"
        f'<meta http-equiv="Content-Security-Policy" content="{html.escape(_POLICY)}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{safe}</style><style>{_STILL}</style></head><body><div id='root'></div></body></html>"
    )


def first_script(worker: Path, bundle: str, names: Names) -> str:
    """The script that a browser runs in every new document: React, then `worker/page.js`."""
    page = (worker / "page.js").read_text(encoding="utf-8")
    page = page.replace("$$name", names.start).replace("$$report", names.report)
    return f"{bundle}\n{page}"


def start_call(page: str, script: str, names: Names) -> str:
    """The expression that fills the page and runs a component; its line 2 is the first line of the component's code."""
    fill = f"document.open();document.write({json.dumps(page)});document.close();"
    return f'{fill}globalThis["{names.start}"]({script})\n//# sourceURL={SOURCE_URL}'


def extra_bundle_call(source: str, names: Names) -> str:
    """The expression that adds a bundle's modules to those that a component can import."""
    return f'globalThis["{names.start}+"](() => {{ {source}\n}})'


_CODES = {
    31: "Objects are not valid as a React child",
    62: "The style prop expects an object, not a string",
    130: "Element type is invalid: it is undefined or an object (a wrong import or export?)",
    137: "A void element (such as input or br) must have neither children nor dangerouslySetInnerHTML",
    152: "Nothing was returned from render",
    185: "Maximum update depth exceeded: a component sets state again and again while it renders or updates",
    299: "The target of createRoot is not a DOM element",
    300: "Rendered fewer hooks than expected: a hook stands after an early return",
    301: "Too many re-renders: state is set while rendering",
    306: "A lazy component did not resolve to a component",
    310: "Rendered more hooks than during the previous render: a hook stands in a condition or a loop",
    321: "Invalid hook call: hooks can only be called inside the body of a function component",
    460: "Suspense exception: it must not be caught by the component",
    482: "An async component cannot be rendered in the browser",
}
_MINIFIED = re.compile(r"Minified React error #(\d+); visit \S+(?: for the full message)?.*", re.DOTALL)


def readable(message: str) -> str:
    """An error's first line; React's production errors are numbers, and get their meaning here."""
    found = _MINIFIED.search(message)
    if found and int(found[1]) in _CODES:
        message = message[: found.start()] + _CODES[int(found[1])]
    return message.strip().partition("\n")[0][:500]
