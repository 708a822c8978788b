"""Two runs, and any number of workers, say the same of a component and show the same picture."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from sandbox_helpers import REPO, app

from sandbox.outcome import Outcome
from sandbox.pool import Item, Sandbox

pytestmark = pytest.mark.browser

_TICK = "useEffect(() => { const t = setInterval(() => set((n) => n + 1), 100); return () => clearInterval(t); }, []);"
_SPOIL = 'Array.prototype.map = () => []; localStorage.a = 1; document.body.style.background = "red"; window.x = 1;'
VARIED = [
    app(
        "return <p>{Math.random()} {Date.now()} {new Date().toString()} {performance.now()} {crypto.randomUUID()}</p>;"
    ),
    app(f"const [n, set] = useState(0);\n{_TICK}\nreturn <h1>{{n}} ticks</h1>;"),
    app('return <div className="animate-spin p-8 text-3xl shadow-xl">spin <input autoFocus /></div>;'),
    app('return <div style={{ fontFamily: "serif", transition: "all 3s" }}>élan 漢字 🎉 {"fi"}</div>;'),
    app(f"{_SPOIL}\nreturn <p>spoilt {{[1, 2].map((i) => i)}}</p>;"),
    app("return <p>clean {window.x} {localStorage.a} {[1, 2].map((i) => i)}</p>;"),
    app('useEffect(() => { setTimeout(() => { throw new Error("late"); }, 100); }, []);\nreturn <h1>hi</h1>;'),
    app('useEffect(() => {\n  throw new Error("é broke");\n}, []);\nreturn <h1>hi</h1>;'),
    app("const list = undefined;\nreturn <ul>{list.map((x) => x)}</ul>;"),
    app("const [n, set] = useState(0);\nset(n + 1);\nreturn <p>{n}</p>;"),
    app('useEffect(() => { location.href = "http://localhost:1/"; }, []);\nreturn <h1>gone</h1>;'),
    app("return <canvas ref={(c) => c?.getContext('2d').fillText('drawn', 20, 20)} />;"),
    app("return <svg width={300} height={90}><circle cx={40} cy={40} r={30} fill='teal' /></svg>;"),
    app("return null;"),
    app("return <p>;"),
    'import { X } from "nowhere";\nexport default () => <X />;',
    "const Card: React.FC<{ a: number }> = ({ a }) => <p>{a as number}</p>;\nexport default () => <Card a={1} />;",
    "[" * 300,
    "Sorry, I cannot.",
]


def references(every: int) -> list[Item]:
    lines = (REPO / "tasks" / "data" / "react.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines[::every]]
    return [Item(row["reference"], "code", requirements=tuple(row["requirements"])) for row in rows]


def look(outcome: Outcome) -> tuple[Any, ...]:
    shot = outcome.screenshot
    picture = (shot.name, shot.read_bytes()) if shot is not None else None
    return outcome.status, outcome.diagnostics, outcome.requirements, outcome.page, picture


def check(items: list[Item], folder: Path) -> None:
    with Sandbox(screenshots=folder / "one", timeout_s=20) as sandbox:
        first = [look(outcome) for outcome in sandbox.run(items)]
    with Sandbox(screenshots=folder / "two", timeout_s=20, workers=2, recycle_after=len(items) // 3) as sandbox:
        again = [look(outcome) for outcome in sandbox.run(items[::-1])][::-1]
    different = [(item.text, a[:-1], b[:-1]) for item, a, b in zip(items, first, again, strict=True) if a != b]
    assert not different
    assert len({status for status, *_ in first}) > 1
    assert len({picture for *_, picture in first}) > len(items) // 2


def test_one_worker_and_two_give_the_same_in_any_order(tmp_path: Path) -> None:
    check([*(Item(code, "code") for code in VARIED), *references(every=50)], tmp_path)


@pytest.mark.slow
def test_they_do_so_for_a_quarter_of_the_tasks_references(tmp_path: Path) -> None:
    check([*(Item(code, "code") for code in VARIED), *references(every=4)], tmp_path)
