"""`bot-grpo bench gpu` on a CPU: the same code with a tiny shape; what happens without a GPU, time or luck."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
import torch

from bot_grpo import bench_gpu, bench_parts
from bot_grpo.cli import main


def part(folder: Path, name: str, **changes: Any) -> dict[str, Any]:
    """The result of a part, run in this process."""
    spec = {"part": name, "shape": bench_gpu.TINY, "device": "cpu", "until": time.time() + 600}
    given, result = folder / "spec.json", folder / "result.json"
    given.write_text(json.dumps({**spec, **bench_gpu.work("tiny", name), **changes}))
    bench_parts.main(str(given), str(result))
    return dict(json.loads(result.read_text()))


@pytest.mark.parametrize("name", ["step-lora", "step-full"])
def test_a_step_of_both_trainers_is_measured_once_where_time_is_short(name: str, tmp_path: Path) -> None:
    found = part(tmp_path, name, until=time.time())
    assert "failed" not in found
    assert found["machine"]["torch"] == torch.__version__
    assert set(found["trainers"]) == {"trl grpo", "ours bot_grpo"}
    for figures in found["trainers"].values():
        assert figures["turns"] == 1
        assert figures["seconds"] > 0
        assert figures["peak_mb"] > 10


def test_samplers_have_a_speed_and_a_small_gap_to_the_trainer(tmp_path: Path) -> None:
    found = part(tmp_path, "sampling")
    assert "failed" not in found
    assert set(found["samplers"]) == {"group sampler (ours)", "transformers generate"}
    for figures in found["samplers"].values():
        assert figures["tokens_per_second"] > 0
        assert figures["unknown"] == 0
        assert figures["gap_max"] < 1e-3  # float32: the adapter is in both, at the same tokens and positions
        assert figures["ratio"] == pytest.approx(1, abs=1e-3)


def test_what_goes_wrong_in_a_part_is_its_result_in_one_line(tmp_path: Path) -> None:
    found = part(tmp_path, "sampling", shape={**bench_gpu.TINY, "hidden_size": 66, "num_attention_heads": 0})
    assert found["failed"]
    assert "\n" not in found["failed"]


def test_a_part_is_ended_at_its_time_and_one_without_time_is_not_begun(capsys: pytest.CaptureFixture[str]) -> None:
    spec = {"part": "step-lora", "shape": bench_gpu.TINY, "device": "cpu", "until": 0.0}
    began = time.monotonic()
    found = bench_gpu._in_a_process({**spec, **bench_gpu.work("tiny", "step-lora")}, 0.3)
    assert found == {"failed": "ended after its 0 s"}
    assert time.monotonic() - began < 10
    skipped = bench_gpu.run("tiny", "cpu", 10, ["step-full"])
    assert "no time left" in skipped["parts"][0]["skipped"]
    assert "part 1 of 1" in capsys.readouterr().out


def test_the_table_has_ratios_to_trl_and_names_what_failed() -> None:
    def figures(seconds: float, peak: float) -> dict[str, float]:
        return {"seconds": seconds, "cpu_seconds": seconds, "peak_mb": peak, "turns": 2}

    trainers = {"trl grpo": figures(2, 4096), "ours bot_grpo": figures(1, 3072)}
    steps = {"rollouts": 32, "micro_batch": 4, "longest": 1024, "trainers": trainers}
    at = {"tokens_per_second": 12345.6, "gap": 0.0123, "gap_max": 0.5, "ratio": 1.0, "kl": 1e-4, "unknown": 0.0}
    text = bench_gpu.markdown(
        {
            "machine": {"device": "Some GPU", "memory_gb": 80.0, "torch": "2.13"},
            "shape": "tiny",
            "parameters": 1000,
            "parts": [
                {"part": "step-lora", "title": bench_gpu.PARTS["step-lora"], **steps},
                {"part": "step-full", "title": bench_gpu.PARTS["step-full"], "failed": "out of memory: 9 GiB"},
                {"part": "sampling", "title": "sampling", "rows": 64, "tokens": 256, "samplers": {"ours": at}},
            ],
        }
    )
    assert text.startswith("Some GPU, 80 GB; torch 2.13. Random weights of the shape tiny (1,000 parameters).")
    assert "| LoRA | ours bot_grpo | 1 | 0.50 | 3 | 0.75 | 2 |" in text
    assert "| ours | 12,346 | 0.012 | 0.5 | 0.0001 |" in text
    assert "* a training step, all weights: out of memory: 9 GiB" in text


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_it_says_so_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "gpu"]) == 2
    said = capsys.readouterr()
    assert "no GPU is at hand" in said.err
    assert said.err.count("\n") == 1
    assert said.out == ""


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["gpu", "--model-shape", "./nowhere"], "nowhere"),
        (["gpu", "--parts", "step-lora,stap"], "no part 'stap'"),
        (["gpu", "--minutes", "0"], "above 0"),
        (["cpu"], "invalid choice"),
        ([], "bench gpu: "),
    ],
)
def test_bad_input_is_one_line(words: list[str], why: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", *words]) == 2
    said = capsys.readouterr().err
    assert why in said
    assert said.count("\n") == 1


@pytest.mark.slow
def test_the_whole_of_it_on_a_tiny_shape(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    parts = "step-lora,step-full,sampling"
    words = ["gpu", "--model-shape", "tiny", "--parts", parts, "--output", str(tmp_path / "out")]
    assert main(["bench", *words]) == 0
    found = json.loads((tmp_path / "out" / "bench-gpu.json").read_text())
    assert [p["part"] for p in found["parts"]] == parts.split(",")
    assert all(figures["turns"] == bench_parts.ROUNDS for figures in found["parts"][0]["trainers"].values())
    text = (tmp_path / "out" / "bench-gpu.md").read_text()
    assert text in capfd.readouterr().out
    assert text.count("ours bot_grpo") == 2
