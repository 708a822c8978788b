"""What a real browser makes of components, honest ones and hostile ones."""

# ruff: noqa: E501 - JSX on one line is easier to read than cut in pieces

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from sandbox_helpers import Judge, app, cases

from sandbox.outcome import Outcome, Status
from sandbox.pool import Item, Sandbox

pytestmark = pytest.mark.browser


def messages(outcome: Outcome) -> str:
    return " | ".join(d.message for d in outcome.diagnostics)


def png_of(outcome: Outcome) -> bytes:
    assert outcome.screenshot is not None, messages(outcome)
    return outcome.screenshot.read_bytes()


def test_every_hostile_case_ends_as_one_of_the_outcomes_that_are_right() -> None:
    folder, rows = cases("hostile")
    names = {"crash": "crashed"}
    items = [Item((folder / row["file"]).read_bytes().decode("utf-8", "replace"), "code") for row in rows]
    with Sandbox(workers=2) as sandbox:
        outcomes = sandbox.run(items)
    wrong = {}
    for row, outcome in zip(rows, outcomes, strict=True):
        allowed = {names.get(name, name) for name in row["expected_class"]}
        if "import" in row["kind"]:
            allowed.add("import_error")
        if outcome.status.value not in allowed:
            wrong[row["file"]] = (outcome.status.value, sorted(allowed), messages(outcome))
    assert not wrong


def test_an_ordinary_component_is_shown(render: Judge) -> None:
    (outcome,) = render(app("const [n, set] = useState(0);\nreturn <button onClick={() => set(n + 1)}>{n}</button>;"))
    assert outcome.status is Status.OK, messages(outcome)
    assert png_of(outcome).startswith(b"\x89PNG")
    assert int.from_bytes(png_of(outcome)[16:20]) == 1280
    assert int.from_bytes(png_of(outcome)[20:24]) == 800
    assert outcome.render_ms is not None


def test_what_a_component_throws_is_told_with_its_line(render: Judge) -> None:
    module, mounted, effect, hook = render(
        "const a = null;\n\nexport default () => <p>{1}</p>;\n  a.b();",
        app("const list = undefined;\nreturn (\n  <ul>\n    {list.map((x) => <li>{x}</li>)}\n  </ul>\n);"),
        app('useEffect(() => {\n  throw new Error("é broke");\n}, []);\nreturn <h1>hi</h1>;'),
        app("const el = null;\nuseState(() => el.focus());\nreturn <h1>hi</h1>;"),
    )
    for outcome, line, part in (
        (module, 4, "'b'"),
        (mounted, 7, "'map'"),
        (effect, 5, "é broke"),
        (hook, 5, "'focus'"),
    ):
        assert outcome.status is Status.RUNTIME_ERROR, messages(outcome)
        assert outcome.compiled
        found = outcome.diagnostics[0]
        assert (found.source, found.severity, found.line) == ("runtime", "error", line)
        assert part in found.message


def test_reacts_numbered_errors_are_words(render: Judge) -> None:
    objects, element, updates = render(
        app("return <p>{{ a: 1 }}</p>;"),
        app("return <Missing />;", "const Missing = undefined;"),
        app("const [n, set] = useState(0);\nset(n + 1);\nreturn <p>{n}</p>;"),
    )
    assert "Objects are not valid" in messages(objects)
    assert "Element type is invalid" in messages(element)
    assert "Too many re-renders" in messages(updates)
    assert {o.status for o in (objects, element, updates)} == {Status.RUNTIME_ERROR}


def test_a_name_that_was_not_imported_is_a_runtime_error(render: Judge) -> None:
    (outcome,) = render("export default function App() {\n  const [n] = useState(0);\n  return <p>{n}</p>;\n}")
    assert outcome.status is Status.RUNTIME_ERROR
    assert "useState is not defined" in messages(outcome)
    assert outcome.diagnostics[0].line == 2


def test_blank_is_a_matter_of_pixels(render: Judge) -> None:
    hidden = '<div style={{ position: "absolute", left: -5000 }}>far away</div>'
    for outcome in render(
        app("return null;"),
        app("return <div></div>;"),
        app('return <div style={{ color: "white" }}>white on white</div>;'),
        app(f"return {hidden};"),
        app('return <div style={{ background: "teal", height: 2000 }} />;'),
        app("return <p hidden>hidden</p>;"),
        app(
            "return <React.Suspense fallback={null}><Later /></React.Suspense>;",
            "const Later = React.lazy(() => new Promise(() => {}));",
        ),
    ):
        assert outcome.status is Status.BLANK, messages(outcome)
    (dot,) = render(app('return <div style={{ width: 1, height: 1, background: "black" }} />;'))
    assert dot.status is Status.OK


def test_an_error_that_hides_behind_something_drawn_is_still_an_error(render: Judge) -> None:
    drawn = 'document.body.insertAdjacentHTML("beforeend", "<h1>fine</h1>");'
    outcomes = render(
        app(f'{drawn} throw new Error("x");'),
        app(f'{drawn} window.reportError = () => {{}}; console.error = () => {{}}; throw new Error("x");'),
        app(f'{drawn} window.onerror = () => true; throw new Error("x");'),
        app(
            'throw new Error("x");',
            f'{drawn} addEventListener("error", (e) => {{ e.preventDefault(); e.stopImmediatePropagation(); }}, true);',
        ),
        app(f'{drawn} Promise = null; Array.prototype.push = () => {{}}; throw new Error("x");'),
    )
    assert [o.status for o in outcomes] == [Status.RUNTIME_ERROR] * len(outcomes)


def test_an_error_that_a_component_catches_or_that_comes_late_is_a_warning_at_most(render: Judge) -> None:
    boundary = (
        "class Boundary extends React.Component {\n"
        "  state = { failed: false };\n"
        "  static getDerivedStateFromError() { return { failed: true }; }\n"
        "  render() { return this.state.failed ? <p>Something went wrong</p> : this.props.children; }\n"
        "}\n"
        'function Bad() { throw new Error("caught"); }'
    )
    caught, late, rejected = render(
        app("return <Boundary><Bad /></Boundary>;", boundary),
        app('useEffect(() => { setTimeout(() => { throw new Error("late"); }, 100); }, []);\nreturn <h1>hi</h1>;'),
        app('useEffect(() => { fetch("/api").then((r) => r.json()); }, []);\nreturn <h1>hi</h1>;'),
    )
    assert {o.status for o in (caught, late, rejected)} == {Status.OK}
    assert [(d.severity, d.message) for d in late.diagnostics] == [("warning", "Error: late")]
    assert rejected.diagnostics


def test_of_thousands_of_errors_the_host_hears_of_the_first_of_each_kind(render: Judge) -> None:
    shouting = app(
        """const [told, tell] = useState({});
  useEffect(() => {
    const count = { error: 0, unhandledrejection: 0 };
    for (const kind of Object.keys(count))
      window.addEventListener(kind, (event) => { if (event.isTrusted && !event.defaultPrevented) count[kind]++; });
    for (let i = 0; i < 100; i++) window.dispatchEvent(new ErrorEvent("error", { cancelable: true }));
    for (let i = 0; i < 3000; i++) { reportError(new Error("thrown")); Promise.reject(new Error("rejected")); }
    setTimeout(() => tell(count), 100);
  }, []);
  return <p>{told.error} thrown, {told.unhandledrejection} rejected</p>;"""
    )
    (outcome,) = render((shouting, [{"check": "text", "text": "20 thrown, 20 rejected"}]))
    assert outcome.status is Status.OK
    assert outcome.requirements_met == 1
    assert [d.message for d in outcome.diagnostics] == ["Error: thrown"] * 5


def test_the_same_component_gives_the_same_bytes_in_another_browser(render: Judge, tmp_path: Path) -> None:
    codes = [
        app("return <p>{Math.random()} {Date.now()} {new Date().toString()} {performance.now()}</p>;"),
        app("return <p>{crypto.randomUUID()} {new Date().toLocaleString()} {new Intl.DateTimeFormat('en', { timeStyle: 'long' }).format()} {Intl.DateTimeFormat().resolvedOptions().timeZone}</p>;"),
        app("const [n, set] = useState(0);\nuseEffect(() => { const t = setInterval(() => set((n) => n + 1), 100); return () => clearInterval(t); }, []);\nreturn <h1>{n} ticks</h1>;"),
        app('return <div className="p-8 animate-spin text-3xl">spin</div>;'),
        app('return <input autoFocus defaultValue="a caret blinks here" />;'),
        app('return <div style={{ transition: "all 3s", fontFamily: "serif" }}>élan 漢字 🎉 {"fi"}</div>;'),
    ]  # fmt: skip
    first = render(*codes)
    with Sandbox(screenshots=tmp_path) as sandbox:
        again = sandbox.run([Item(code, "code") for code in reversed(codes)])[::-1]
    for one, other in zip(first, again, strict=True):
        assert one.status is Status.OK, messages(one)
        assert png_of(one) == png_of(other)
        assert one.screenshot is not None
        assert other.screenshot is not None
        assert one.screenshot.name == other.screenshot.name


def test_time_runs_ahead_so_pretended_loading_is_over(render: Judge) -> None:
    wait = "const [done, set] = useState(false);\nuseEffect(() => { setTimeout(() => set(true), 1500); }, []);\n"
    begun = time.monotonic()
    loaded, ready = render(app(f"{wait}return <p>{{done ? 'Ready' : 'Loading'}}</p>;"), app("return <p>{'Ready'}</p>;"))
    assert png_of(loaded) == png_of(ready)
    assert time.monotonic() - begun < 10


def test_what_fades_in_is_visible(render: Judge) -> None:
    style = "<style>{'@keyframes in { from { opacity: 0 } to { opacity: 1 } } .x { opacity: 0; animation: in 5s 3s forwards }'}</style>"
    faded, plain = render(
        app(f'return <div>{style}<p className="x">here</p></div>;'), app("return <div><p>here</p></div>;")
    )
    assert png_of(faded) == png_of(plain)


def test_tailwind_styles_are_those_of_the_classes_used(render: Judge) -> None:
    styled, same, other = render(
        app('return <div className="bg-red-500 p-4 w-[300px] hover:bg-blue-500">x</div>;'),
        app("return <div style={{ background: 'oklch(63.7% 0.237 25.331)', padding: 16, width: 300 }}>x</div>;"),
        app('const on = true;\nreturn <div className={`${on ? "bg-red-500" : ""} p-4 w-[300px]`}>x</div>;'),
    )
    assert png_of(styled) == png_of(same) == png_of(other)


def test_what_an_ordinary_web_page_has_is_there(render: Judge) -> None:
    checks = [
        'localStorage.setItem("a", "1"), localStorage.getItem("a") === "1" && localStorage.length === 1',
        '(localStorage.b = 2, localStorage.b === "2" && Object.keys(localStorage).includes("b"))',
        'sessionStorage.getItem("nothing") === null',
        '(document.cookie = "a=1; path=/", document.cookie === "a=1")',
        "/^[0-9a-f-]{36}$/.test(crypto.randomUUID())",
        'typeof navigator.clipboard.writeText === "function"',
        "navigator.onLine",
        '(history.pushState({}, "", "/path"), true)',
        'matchMedia("(prefers-reduced-motion: reduce)").matches',
        "innerWidth === 1280 && innerHeight === 800 && devicePixelRatio === 1",
        'document.compatMode === "CSS1Compat"',
        'new Date().getTimezoneOffset() === 0 && navigator.language === "en-US"',
        'alert("x") === undefined && confirm("x") === false && prompt("x") === null',
        "Date() === new Date().toString() && new Date() instanceof Date && new Date(0).getTime() === 0",
    ]
    head = f"const failed = [{', '.join(f'() => ({check})' for check in checks)}].map((f, i) => f() ? null : i).filter((i) => i !== null);"
    (outcome,) = render(app('if (failed.length) throw new Error("checks " + failed);\nreturn <p>all</p>;', head))
    assert outcome.status is Status.OK, messages(outcome)


def test_nothing_goes_over_from_one_component_to_the_next(render: Judge) -> None:
    spoil = (
        'window.Promise = null; Object.prototype.polluted = 1; localStorage.a = 1; document.cookie = "a=1"; window.name = "x";'
        'document.body.style.background = "red"; Array.prototype.map = () => [];'
        'setInterval(() => { document.body.innerHTML = "<h1>mine</h1>" }, 1);'
        'const s = document.createElement("style"); s.textContent = "p { color: red }"; document.head.append(s);'
    )
    code = app("return <p>clean {window.name} {localStorage.length} {document.cookie} {String({}.polluted)}</p>;")
    before, spoilt, after = render(code, app(f"{spoil}\nreturn <p>x</p>;"), code + "\n")
    assert spoilt.status in (Status.OK, Status.RUNTIME_ERROR)
    assert png_of(before) == png_of(after)


def test_a_component_cannot_find_the_hosts_functions(render: Judge) -> None:
    look = (
        "const names = Object.getOwnPropertyNames(window).filter((n) => /^_[0-9a-f]{24}$|modules/.test(n));\n"
        'if (names.length) throw new Error("found " + names);\nreturn <p>nothing</p>;'
    )
    (outcome,) = render(
        app(
            look,
            "const early = Object.getOwnPropertyNames(window).filter((n) => /^_[0-9a-f]{24}$/.test(n));\nif (early.length) throw new Error(early[0]);",
        )
    )
    assert outcome.status is Status.OK, messages(outcome)


def test_text_that_ends_a_script_or_a_style_is_only_text(render: Judge) -> None:
    (outcome,) = render(
        app(
            'return <p className="before:content-[\'</style><h1>out</h1>\']">{"</script><script>throw 1</script></style>"}</p>;'
        )
    )
    assert outcome.status is Status.OK, messages(outcome)
    assert not outcome.diagnostics


ADD = (
    "const add = (tag, fields) => {"
    " const e = Object.assign(document.createElement(tag), fields); document.body.append(e); return e; };"
)
BOMBS = {
    "memory": "const a = []; for (;;) a.push(new Array(1e6).fill(Math.random()));",
    "errors": 'const b = add("b", { onclick: () => { throw new Error("x".repeat(1e4)); } }); for (;;) b.click();',
    "frame console": 'const f = add("iframe", {}); for (;;) f.contentWindow.console.log("x".repeat(1e5));',
}
MORE_BOMBS = {
    "buffers": "const a = []; for (;;) a.push(new Uint8Array(1 << 27).fill(1));",
    "dialogs": 'for (;;) { alert("x"); confirm("y"); }',
    "console": 'for (;;) console.log("x".repeat(1e5));',
    "frames": 'for (;;) add("iframe", {});',
    "history": 'for (;;) { history.pushState(0, "", "#" + Math.random()); location.hash = Math.random(); }',
    "workers": "for (;;) new Worker(URL.createObjectURL(new Blob(['for(;;);'])));",
    "styles": 'for (;;) add("style", { textContent: "* { color: red }" });',
    "rejections": "const f = () => { Promise.reject(new Error('x'.repeat(1e4))); setTimeout(f, 0); setTimeout(f, 0); }; f();",
}


@pytest.mark.parametrize(
    "bombs", [pytest.param(BOMBS, id="some"), pytest.param(MORE_BOMBS, id="more", marks=pytest.mark.slow)]
)
def test_a_bomb_costs_its_own_time_and_nothing_else(bombs: dict[str, str]) -> None:
    items = []
    for name, body in bombs.items():
        items.append(Item(app(f"useEffect(() => {{ {ADD} {body} }}, []);\nreturn <h1>{name}</h1>;"), "code"))
        items.append(Item(app(f"return <p>after {name}</p>;"), "code"))
    with Sandbox(timeout_s=2) as sandbox:
        outcomes = sandbox.run(items)
    for name, ended, after in zip(bombs, outcomes[::2], outcomes[1::2], strict=True):
        given_up = ended.status in (Status.TIMEOUT, Status.CRASHED)
        assert given_up or (name, ended.status) == ("rejections", Status.OK), (name, messages(ended))
        assert after.status is Status.OK, (name, messages(after))
        assert ended.render_ms is not None
        assert ended.render_ms < 60_000


@pytest.fixture
def listener() -> Iterator[tuple[int, list[bytes]]]:
    """A port on loopback, and what came in there."""
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def listen() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    heard.append(connection.recv(100))

        threading.Thread(target=listen, daemon=True).start()
        yield server.getsockname()[1], heard


WAYS_OUT = {
    "fetch": "fetch(U).catch(() => {})",
    "xhr": 'const x = new XMLHttpRequest(); x.open("GET", U); x.send()',
    "img": "new Image().src = U",
    "script": 'add("script", { src: U })',
    "css": 'add("link", { rel: "stylesheet", href: U })',
    "style import": 'add("style", { textContent: `@import url(${U});` })',
    "font": 'add("style", { textContent: `@font-face { font-family: Z; src: url(${U}) } body { font-family: Z }` })',
    "iframe": 'add("iframe", { src: U })',
    "srcdoc": 'add("iframe", { srcdoc: `<img src="${U}">` })',
    "ws": 'new WebSocket(U.replace("http", "ws"))',
    "eventsource": "new EventSource(U)",
    "beacon": 'navigator.sendBeacon(U, "x")',
    "worker": "new Worker(URL.createObjectURL(new Blob([`fetch('${U}'); importScripts('${U}')`])))",
    "prefetch": 'add("link", { rel: "prefetch", href: U })',
    "preconnect": 'add("link", { rel: "preconnect", href: U })',
    "dns": 'add("link", { rel: "dns-prefetch", href: U })',
    "popup": 'Reflect.apply(add("iframe", {}).contentWindow.open, window, [U])',
    "import": "import(U).catch(() => {})",
    "speculation": 'add("script", { type: "speculationrules", textContent: JSON.stringify({ prerender: [{ source: "list", urls: [U] }], prefetch: [{ source: "list", urls: [U] }] }) })',
    "form": 'const f = add("form", { action: U, method: "post" }); f.submit()',
    "webrtc": 'const p = new RTCPeerConnection({ iceServers: [{ urls: U.replace("http://", "stun:").replace(/\\/$/, "") }, { urls: U.replace("http://", "turn:").replace(/\\/$/, "") + "?transport=tcp", username: "a", credential: "b" }] }); p.createDataChannel("x"); p.createOffer().then((o) => p.setLocalDescription(o))',
    "webtransport": 'new WebTransport(U.replace("http", "https"))',
    "meta refresh": 'add("meta", { httpEquiv: "refresh", content: "0;url=" + U })',
    "navigate": "location.href = U",
    "link": 'add("a", { href: U }).click()',
    "ping": 'add("a", { href: "#x", ping: U }).click()',
}  # fmt: skip


LEAVING = ("form", "meta refresh", "navigate", "link", "popup", "ping")


def test_no_way_out_reaches_a_listener(listener: tuple[int, list[bytes]]) -> None:
    port, heard = listener
    staying = [way for name, way in WAYS_OUT.items() if name not in LEAVING]
    tries = ["; ".join(f"try {{ {way} }} catch {{}}" for way in staying), *(WAYS_OUT[name] for name in LEAVING)]
    codes = [
        app(f'useEffect(() => {{ const U = "http://{host}:{port}/"; {ADD} {way}; }}, []);\nreturn <h1>hi</h1>;')
        for way in tries
        for host in ("127.0.0.1", "localhost")
    ]
    with Sandbox(timeout_s=5) as sandbox:
        outcomes = sandbox.run([Item(code, "code") for code in codes])
        time.sleep(1)
    assert heard == []
    assert {o.status for o in outcomes} <= {Status.OK, Status.BLANK}, [messages(o) for o in outcomes]


def test_the_listener_would_have_heard(listener: tuple[int, list[bytes]]) -> None:
    port, heard = listener
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(b"hello")
    time.sleep(0.2)
    assert heard == [b"hello"]
