"""The React reward with all its sources for real: compiler, ESLint, browser, rules, and a judge behind HTTP."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from reward_models.base import Rollout
from reward_models.compiler import CompilerReward
from sandbox.judge import Judge, JudgeSettings
from sandbox.pool import Sandbox

GOOD = """export default function App() {
  const unused = 1;
  return <main><h1>Hello there</h1><button>Go</button></main>;
}"""
BROKEN = "export default function App() {\n  return <p>hi</div>;\n}"
REQUIREMENTS = [{"check": "text", "text": "Hello"}]


@pytest.mark.browser
def test_every_source_has_its_part_in_the_outcome_and_on_lines(tmp_path: Path, httpserver: HTTPServer) -> None:
    asked: list[str] = []

    def judge(request: Request) -> Response:
        content = json.loads(request.get_data())["messages"][-1]["content"]
        image = not isinstance(content, str)
        asked.append("image" if image else "code")
        answer = "SCORE: 6" if image else "LINE 2: -3 unused\nSCORE: 8"
        body = {"choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": answer}}]}
        return Response(json.dumps({"id": "1", "object": "chat.completion", "created": 1, "model": "m", **body}))

    httpserver.expect_request("/v1/chat/completions", method="POST").respond_with_handler(judge)
    models = Judge(JudgeSettings(model="m", base_url=httpserver.url_for("/v1"), retries=0, cache=tmp_path / "cache"))
    with Sandbox(screenshots=tmp_path, lint=True, page=True) as sandbox:
        reward = CompilerReward(
            sandbox,
            w_lint=1.0,
            w_page=0.5,
            w_code_judge=1.0,
            w_screenshot_judge=1.0,
            lint_lines=1.0,
            code_judge_lines=1.0,
            window=0,
            code_judge=models,
            screenshot_judge=models,
        )
        rollouts = [Rollout("ask", code, row={"requirements": REQUIREMENTS}) for code in (GOOD, BROKEN)]
        good, broken = reward.score(rollouts)
        again = reward.score(rollouts)
    assert good is not None
    assert broken is not None
    assert sorted(asked) == ["code", "code", "image"], "a page that doesn't compile has no picture; answers are kept"
    assert again[0] is not None
    assert (again[0].outcome, again[0].spans) == (good.outcome, good.spans)
    assert good.metrics["G/code_judge"] == pytest.approx(0.8)
    assert good.metrics["G/screenshot_judge"] == pytest.approx(0.6)
    assert good.metrics["G/lint"] == pytest.approx(-0.02), "one unused variable"
    assert 0 < good.metrics["G/page"] <= 0.5
    assert good.outcome == pytest.approx(1.0 + sum(v for k, v in good.metrics.items() if k.startswith("G/")))
    on_lines = [(GOOD[s.start : s.end].split()[0], round(s.value, 6)) for s in good.spans]
    assert on_lines == [("const", -0.02), ("return", -0.3)], "ESLint's line 2, and the judge's, who counts from 0"
    assert broken.metrics["G/screenshot_judge"] == pytest.approx(-0.3)
    assert broken.metrics["G/lint"] <= -0.5, "a parse failure is fatal to ESLint too"
    assert broken.outcome < good.outcome
