"""The report reads whatever a run left behind, fits its budget, and nothing in a run can break out of its data."""

from __future__ import annotations

import base64
import json
import re
import zlib
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from fake_run import HOSTILE, write_fake_run
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from bot_grpo import report as report_module
from bot_grpo.cli import main
from bot_grpo.errors import UserError
from bot_grpo.pages import check_folder, check_writable
from bot_grpo.report import write_report
from bot_grpo.report_charts import charts, duration, tiles
from bot_grpo.report_data import Entry, choose, evenly, read_run, to_series
from bot_grpo.report_rows import Thumbnails, crop_to_content, describe, pack


def payload_of(page: Path) -> dict[str, Any]:
    match = re.search(r'<script id="payload"[^>]*>([A-Za-z0-9+/=]*)</script>', page.read_text())
    assert match, "the data must be plain base64"
    return json.loads(zlib.decompress(base64.b64decode(match[1])))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_fake_run(tmp_path_factory.mktemp("runs") / "demo", steps=6)


# The command


def test_the_command_writes_one_page_and_says_where(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(run)]) == 0
    assert (run / "report.html").stat().st_size > 10_000
    assert capsys.readouterr().out.splitlines()[-1] == f"wrote {run / 'report.html'}"


@pytest.mark.parametrize(
    ("break_it", "expected"),
    [
        (lambda root: root / "nowhere", "is not a directory"),
        (lambda root: root / "empty", "is not a run directory"),
        (lambda root: root / "unstarted", "no metrics yet"),
        (lambda root: root / "half", "no metrics yet"),
        (lambda root: root / "starting", "no metrics yet"),
    ],
)
def test_what_is_no_run_gets_one_line_and_exit_code_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], break_it: Any, expected: str
) -> None:
    for name, content in (("unstarted", ""), ("half", '{"step": 1, "reward": 0.')):
        (tmp_path / name).mkdir()
        (tmp_path / name / "metrics.jsonl").write_text(content)
    for name in ("empty", "starting"):
        (tmp_path / name).mkdir()
    (tmp_path / "starting" / "config.yaml").write_text("seed: 0")
    assert main(["report", str(break_it(tmp_path))]) == 2
    error = capsys.readouterr().err
    assert expected in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--completions", "0"], "--completions: a whole number from 1 is wanted, not '0'"),
        (["--output", "page.txt"], "page.txt must end in .html"),
    ],
)
def test_a_bad_option_is_refused_before_anything_is_read(
    run: Path, capsys: pytest.CaptureFixture[str], options: list[str], expected: str
) -> None:
    assert main(["report", str(run), *options]) == 2
    out, error = capsys.readouterr()
    assert expected in error
    assert not out


def test_it_overwrites_a_report_and_nothing_else(run: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"must end in \.html"):
        write_report(run, run / "metrics.jsonl")
    with pytest.raises(UserError, match="cannot write"):
        write_report(run, tmp_path / "missing" / "report.html")
    page = tmp_path / "report.html"
    page.write_text("earlier")
    write_report(run, page)
    assert page.read_text() != "earlier"
    assert list(tmp_path.iterdir()) == [page], "no temporary file stays behind"


# Reading


def test_a_half_written_line_and_a_step_logged_twice(tmp_path: Path) -> None:
    lines = ['{"step": 1, "reward": 1}', "junk", '{"step": 2, "reward": NaN}', '{"step": 1, "reward": 3, "loss": null}']
    (tmp_path / "metrics.jsonl").write_text("\n".join([*lines, '{"step": 3, "rew']))
    run = read_run(tmp_path)
    assert run.series == {"reward": [(1, 3.0)]}, "a resumed run's last value counts; null and NaN are no values"
    assert run.notes == ["1 unreadable line of metrics.jsonl left out."]


def test_a_damaged_rollouts_file_is_left_out_and_named(tmp_path: Path) -> None:
    root = write_fake_run(tmp_path / "run", steps=2)
    file = root / "rollouts" / "step-00002.parquet"
    file.write_bytes(file.read_bytes()[:500])
    result = write_report(root)
    assert {row["step"] for row in payload_of(result.path)["rows"]} == {0, 1}
    assert "step-00002.parquet could not be read" in result.path.read_text()


def test_a_run_with_metrics_alone_has_a_page(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text('{"step": 1, "reward": 0.5}\n')
    result = write_report(tmp_path)
    assert (result.completions, result.screenshots) == (0, 0)
    assert "kept no completions" in result.path.read_text()


@pytest.mark.parametrize(
    ("summary", "warning"),
    [(None, "it left no summary"), ({"finished": False}, "stopped before its last step"), ({"finished": True}, None)],
)
def test_the_page_says_when_a_run_is_not_whole(tmp_path: Path, summary: Any, warning: str | None) -> None:
    (tmp_path / "metrics.jsonl").write_text('{"step": 1, "reward": 0.5}\n')
    if summary:
        (tmp_path / "summary.json").write_text(json.dumps(summary))
    found = re.search(r'class="open">(.*)</span>', write_report(tmp_path).path.read_text())
    assert (found is None) if warning is None else (found is not None and warning in found[1])


def test_the_page_tells_a_killed_run_by_its_lock(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text('{"step": 1, "reward": 0.5}\n')
    (tmp_path / ".lock").touch()
    assert "killed: no process is at work on it" in write_report(tmp_path).path.read_text()


def test_an_alarm_that_lasts_takes_one_line(tmp_path: Path) -> None:
    rows = [{"step": step, "reward": 0.0, "alarms": ["nothing to learn"]} for step in (2, 3, 9)]
    (tmp_path / "metrics.jsonl").write_text("\n".join(map(json.dumps, [*rows, {"step": 4, "alarms": ["full"]}])))
    page = write_report(tmp_path).path.read_text()
    assert re.findall(r"<li><span>(.*)</span> (.*)</li>", page) == [
        ("3 times, steps 2 to 9", "nothing to learn"),
        ("Step 4", "full"),
    ]


# Choosing


@given(st.lists(st.integers(), max_size=60), st.integers(0, 70))
def test_evenly_keeps_order_ends_and_count(items: list[int], count: int) -> None:
    places = evenly(list(enumerate(items)), count)
    assert len(places) == min(count, len(items))
    assert places == sorted(set(places))
    if len(places) > 1:
        assert (places[0][0], places[-1][0]) == (0, len(items) - 1)


@given(
    steps=st.integers(1, 12), groups=st.integers(0, 4), size=st.integers(1, 8), held_out=st.integers(0, 9),
    cap=st.integers(1, 300),
)  # fmt: skip
def test_a_sample_fits_its_cap_in_whole_groups(steps: int, groups: int, size: int, held_out: int, cap: int) -> None:
    index = [Entry(Path("e"), n, s, "eval", n, "") for s in range(steps) for n in range(held_out)]
    index += [Entry(Path("t"), n, s, "train", g, "") for s in range(steps) for g in range(groups) for n in range(size)]
    kept = choose(index, cap)
    assert len(kept) <= cap
    assert kept == [entry for entry in index if entry in set(kept)], "in the order of the run"
    if cap >= 4 * size * steps and cap >= len(index) // 2:  # room for more than one group of either kind
        by_group: dict[tuple[int, int], int] = {}
        for entry in kept:
            if entry.kind == "train":
                by_group[(entry.step, entry.group)] = by_group.get((entry.step, entry.group), 0) + 1
        assert set(by_group.values()) <= {size}
        followed = [{e.step for e in kept if e.kind == "eval" and e.group == n} for n in range(held_out)]
        assert all(seen in (set(), set(range(steps))) for seen in followed), "a held-out prompt is there at all steps"


def test_the_page_says_how_many_completions_it_left_out(run: Path, tmp_path: Path) -> None:
    result = write_report(run, tmp_path / "small.html", max_completions=50)
    assert 30 <= result.completions <= 50
    assert f"{result.completions} of the run’s {result.completions_in_run} completions" in result.path.read_text()


# Packing


@given(st.lists(st.text(max_size=6), max_size=12))
def test_token_lengths_cut_the_text_as_javascript_counts(pieces: list[str]) -> None:
    text = "".join(pieces)
    ends = [sum(map(len, pieces[: i + 1])) for i in range(len(pieces))]
    spans = [[end - len(piece), end] for end, piece in zip(ends, pieces, strict=True)]
    row = pack({"completion": text, "token_ids": list(range(len(pieces))), "spans": spans})
    units = text.encode("utf-16-le", "surrogatepass")
    cut, position = [], 0
    for length in row["lens"]:
        cut.append(units[2 * position : 2 * (position + length)].decode("utf-16-le", "surrogatepass"))
        position += length
    assert cut == pieces


@pytest.mark.parametrize("spans", [[[0, 2]], [[0, 1], [2, 3]], [[0, 2], [1, 3]], [[0, 3], [3, 4]], [[1, 2], [2, 3]]])
def test_spans_that_do_not_tile_the_text_give_no_heat_map(spans: list[list[int]]) -> None:
    row = pack({"completion": "abc", "token_ids": [1] * len(spans), "spans": spans, "local": [0.5] * len(spans)})
    assert (row["ids"], row["local"]) == ([], None)


def test_a_diagnostic_points_into_the_reply() -> None:
    reply = "\U0001f600:\n```\nline one\nline two\n```"
    start = reply.index("line one")
    row = pack(
        {
            "completion": reply, "code": "line one\nline two\n", "code_start": start,
            "diagnostics": [{"line": 2, "column": 6, "message": "x"}, {"line": 99, "column": 99, "message": "y"}],
        }
    )  # fmt: skip
    found = [d["at"] for d in row["diagnostics"]]
    assert found[0] == reply.index("two") + 1, "one more than in Python: the emoji is two units"
    assert found[1] == row["code"][1], "beyond the end is the end"
    elsewhere = pack({"completion": "abc", "code": "other", "diagnostics": [{"line": 1}]})
    assert elsewhere["diagnostics"][0]["at"] is None


@pytest.mark.parametrize(
    ("check", "words"),
    [
        ({"check": "role", "role": "button", "name": "Add"}, "button “Add” there"),
        ({"check": "role", "role": "listitem", "min": 3}, "at least 3 × listitem"),
        ({"check": "role", "role": "listitem", "min": 2, "max": 2}, "exactly 2 × listitem"),
        ({"check": "text", "text": "Total"}, "the text “Total” shows"),
        ({"check": "click", "role": "button", "name": "+", "nth": 1, "expect": {"number_delta": -2}},
         "click button “+” no. 2: a number goes down by 2"),
        ({"check": "type", "role": "textbox", "value": "Ada", "click": {"role": "button"}, "expect": {"text": "Hi"}},
         "enter “Ada” in textbox, click button: “Hi” appears"),
        ({"check": "click", "role": "tab", "expect": {"role": "dialog", "name": "Info"}},
         "click tab: dialog “Info” appears"),
        ({"check": "novel", "x": 1}, '{"check": "novel", "x": 1}'),
        ({"check": "click", "role": "button", "expect": {}}, '{"check": "click", "role": "button", "expect": {}}'),
    ],
)  # fmt: skip
def test_requirements_in_words(check: dict[str, Any], words: str) -> None:
    assert describe(json.dumps(check)) == words


def test_pictures_are_small_deduplicated_and_only_from_the_run(tmp_path: Path) -> None:
    root = tmp_path / "run"
    root.mkdir()
    for name in ("run/a.png", "run/b.png", "outside.png"):
        Image.new("RGB", (1280, 800), "teal").save(tmp_path / name)
    (root / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\n" + b"\0" * 30)
    pictures = Thumbnails(root)
    assert pictures.add("a.png") == pictures.add("b.png") is not None
    assert len(pictures.uris) == 1
    for name in ("../outside.png", "missing.png", "broken.png"):
        assert pictures.add(name) is None
    assert pictures.unreadable == 3
    assert pictures.add(None) is None


@pytest.mark.parametrize(
    ("box", "expected"),
    [
        ((10, 10, 60, 30), (320, 200)),  # a word in the corner: as it is on the page
        ((400, 100, 880, 600), (851, 532)),  # a card: all of it, in the thumbnail's shape
        ((0, 0, 1280, 790), (1280, 800)),  # a full page
        (None, (1280, 800)),  # an empty one
    ],
)
def test_a_picture_shows_what_is_painted(box: tuple[int, int, int, int] | None, expected: tuple[int, int]) -> None:
    page = Image.new("RGB", (1280, 800), "white")
    if box:
        page.paste("black", box)
    cropped = crop_to_content(page)
    assert cropped.size == expected
    black = (box[2] - box[0]) * (box[3] - box[1]) if box else 0
    assert cropped.convert("L").histogram()[0] == black, "nothing that is painted is cut off"


# Curves and figures


def test_every_metric_is_in_exactly_one_chart() -> None:
    names = ["eval/compile_rate", "compile_rate", "reward", "reward/outcome", "seconds/score", "seconds/step", "loss"]
    names += ["eval/pass@8", "algo/sigma", "algo/sigma_local", "completion_length", "strange/thing"]
    main_charts, more = charts({name: [(1, 0.5)] for name in names}, ())
    assert sorted(c["key"] for chart in main_charts + more for c in chart["curves"]) == sorted(names)


def test_headline_figures() -> None:
    rows = [{"step": s, "eval/compile_rate": v} for s, v in ((0, 0.12), (5, 0.9), (10, 0.84))]
    rows += [{"step": s, "seconds/step": 20.0 + s} for s in (1, 2, 3)]
    found = {label: (figure, remark) for label, figure, remark in tiles(to_series(rows), {})}
    assert found["Compiles"] == ("84 %", "12 % at step 0\nbest 90 % at step 5")
    assert found["Seconds a step"][0] == "22.0"
    assert found["Wall time"] == ("1 min 6 s", "sum of steps")
    coarse = to_series([{"step": s, "seconds/step": 20.0} for s in (5, 10)])  # with logging_steps 5
    assert ("Wall time", "3 min 20 s", "sum of steps") in tiles(coarse, {})
    assert [duration(s) for s in (3.4, 260, 7500)] == ["3 s", "4 min 20 s", "2 h 5 min"]


# Size


def test_a_40_step_run_with_heavy_pictures_stays_under_5_megabytes(tmp_path: Path) -> None:
    root = write_fake_run(tmp_path / "run", steps=40, groups=2, eval_every=5, held_out=24, noisy_pictures=True)
    result = write_report(root)
    assert result.size < 5_000_000
    assert 300 <= result.completions <= 400
    assert result.screenshots > 20
    assert "screenshots left out to keep the page small" in result.path.read_text()


def test_long_completions_are_thinned_to_the_budget(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report_module, "TEXT_BUDGET", 60_000)
    result = write_report(run, tmp_path / "thin.html")
    assert 0 < result.completions < result.completions_in_run
    rows = payload_of(result.path)["rows"]
    assert len(base64.b64encode(zlib.compress(json.dumps(rows).encode()))) <= 60_000


# Nothing breaks out


@pytest.fixture(scope="module")
def hostile_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("runs") / "<img src=x onerror=document.title=1>"
    write_fake_run(root, steps=2, hostile=True)
    config = {"algorithm": "</script><script>document.title='pwned'</script>", HOSTILE[0]: HOSTILE[1]}
    (root / "config.yaml").write_text(json.dumps({**config, "lone": "\ud800 \x00"}))
    with (root / "metrics.jsonl").open("a") as file:
        alarms = [HOSTILE[0], "lone \ud83d surrogate \x00"]
        file.write(json.dumps({"step": 3, HOSTILE[0]: 1.0, "alarms": alarms}) + "\n")
    return root


def test_no_text_of_the_run_becomes_markup(hostile_run: Path) -> None:
    page = write_report(hostile_run).path.read_text()
    assert len(re.findall("<script", page)) == len(re.findall("</script", page)) == 2
    assert "<img" not in page
    assert "onerror=document" in page, "the text itself is there, escaped"


def test_the_scripts_never_parse_text_as_markup() -> None:
    folder = Path(report_module.__file__).parent / "templates"
    sources = {path.name: path.read_text() for path in folder.glob("*.js")}
    source = "".join(sources.values())
    for way in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"):
        assert way not in source
    assert "</" not in source
    asking = {name for name, text in sources.items() if "fetch(" in text}
    assert asking == {"report_live.js"}, "the server's page asks for its stamp, and no other page for anything"


def test_completions_survive_the_trip_unchanged(hostile_run: Path) -> None:
    rows = payload_of(write_report(hostile_run).path)["rows"]
    files = (hostile_run / "rollouts").glob("*.parquet")
    stored = sorted(text for file in files for text in pq.read_table(file)["completion"].to_pylist())
    assert sorted(row["text"] for row in rows) == stored
    assert any("\x00" in text and "</script>" in text for text in stored)


def test_what_cannot_be_written_is_known_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    for target in (tmp_path / "new" / "deep", tmp_path):
        check_folder(target)
    check_writable(tmp_path / "new.html", None, tmp_path / "file")
    assert [p.name for p in tmp_path.iterdir()] == ["file"], "nothing is left of the trial"
    for check, target, says in (
        (check_folder, Path("/proc/x"), "cannot write /proc/x: "),
        (check_folder, tmp_path / "file" / "deep", "file is a file"),
        (check_writable, Path("/proc/x.html"), "cannot write /proc/x.html: "),
        (check_writable, tmp_path, "it is a folder"),
        (check_writable, tmp_path / "no" / "x.html", "there is no folder"),
    ):
        with pytest.raises(UserError, match=says):
            check(target)


@pytest.mark.parametrize(
    "words",
    [
        ["compare", "--config", "react-smollm2-cpu", "--output", "/proc/x"],
        ["train-reward", "--data", "rows.jsonl", "--output", "/proc/x"],
        ["bench", "gpu", "--model-shape", "tiny", "--output", "/proc/x"],
    ],
    ids=lambda words: words[0],
)
def test_nothing_is_trained_for_a_folder_that_cannot_be_written(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(words) == 2
    out, error = capsys.readouterr()
    assert "cannot write /proc/x: " in error
    assert not out
