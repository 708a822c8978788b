"""Recipes: every one for GPUs parses, dry-runs and fits the GPU that it names; those for CPUs take what the CPU has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from bot_grpo import bf16
from bot_grpo.architecture import sizes
from bot_grpo.cli import main
from bot_grpo.cli.dry_run import batch_line, gpu_bytes, notes, plan
from bot_grpo.cli.train import parse
from bot_grpo.errors import UserError
from bot_grpo.memory import GIB, estimate
from bot_grpo.recipe_files import Hardware, parts, read_recipe, recipe_names, whole

GPU = sorted(set(recipe_names()) - set(whole()))


def parsed(name: str, *flags: str) -> Any:
    return parse(["--config", name, "--output_dir", "runs/x", *flags])


def test_each_task_has_each_model_on_each_hardware() -> None:
    tasks, models, hardware = parts()
    assert tasks == ["aime", "react"]
    assert hardware == ["24gb", "80gb", "8gpu"]
    assert {"qwen2.5-3b", "smollm3-3b", "smollm3-3b-think", "phi4-mini", "phi4-mini-reasoning"} <= set(models)
    assert len(GPU) == len(set(GPU)) == len(tasks) * len(models) * len(hardware)


@pytest.mark.parametrize("name", GPU)
def test_it_parses_and_fits_the_gpu_that_it_is_for(name: str) -> None:
    args, recipe = parsed(name), read_recipe(name)
    hardware, found = recipe.hardware, sizes(args.model)
    args.make_algorithm()
    assert batch_line(args, hardware.processes).startswith("8 prompts x 8 completions = 64 a step, in ")
    assert hardware.gpu is not None
    room = gpu_bytes(hardware.gpu)
    needs = estimate(found, plan(args, found, hardware.processes, room))
    assert needs.peak < 0.95 * room
    assert needs.peak > 0.4 * room
    assert notes(args, found) == []  # lengths are within the model's context, and within LongRoPE's bound
    assert args.activation_checkpointing is True
    assert args.stop_tokens
    if args.lora_r:
        assert needs.trainable < needs.parameters / 50
    else:
        assert (args.learning_rate, args.model_dtype) == (5e-7, "float32")
    cache = [part.bytes for part in needs.parts if part.name == "vLLM cache"]
    assert args.vllm_mode == "server" or cache[0] / found.kv_bytes > 4 * args.vllm_max_model_length


@pytest.mark.parametrize("name", ["react-smollm2-cpu", "react-parts-smollm2-cpu", "aime-smollm2-cpu"])
@pytest.mark.parametrize(("features", "dtype"), [(["avx512_bf16"], "bfloat16"), ([], "float32")])
def test_a_cpu_without_bfloat16_computes_in_float32(
    name: str, features: list[str], dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bf16, "cpu_features", lambda: features)
    args = parsed(name)
    assert (args.model_dtype, args.bf16) == (dtype, bool(features))
    assert any("no bfloat16 arithmetic" in note for note in args.notes()) is not bool(features)
    assert args.changed()["model_dtype"] == dtype  # so a run goes on in what it began in
    told = parsed(name, "--model_dtype", "bfloat16", "--bf16", "true")
    assert (told.model_dtype, told.bf16) == ("bfloat16", True)
    assert parsed(name, "--bf16", "true").bf16 is True


def test_what_the_kernel_says_of_bfloat16(tmp_path: Path) -> None:
    words = {
        "flags\t\t: fpu avx2 avx512_bf16 amx_bf16": ["amx_bf16", "avx512_bf16"],
        "Features\t: fp asimd bf16": ["bf16"],
    }
    for line, found in {**words, "flags\t\t: fpu avx2 fma": [], "": []}.items():
        (tmp_path / "cpuinfo").write_text(f"processor\t: 0\n{line}\n")
        assert bf16.cpu_features(tmp_path / "cpuinfo") == found
    assert bf16.cpu_features(tmp_path / "none") == []


def test_the_papers_numbers() -> None:
    react, aime = parsed("react-qwen2.5-3b-80gb"), parsed("aime-qwen2.5-3b-80gb")
    assert (react.w_g, react.reward_settings["window"]) == (1.0, 3)
    assert (aime.w_g, aime.w_s, aime.reward_settings["window"]) == (3.0, 0.5, 3)
    assert react.num_generations == aime.num_generations == aime.num_generations_eval == 8


def test_thinking_is_switched_by_the_template() -> None:
    assert parsed("react-smollm3-3b-24gb").chat_template_kwargs == {"enable_thinking": False}
    think = parsed("react-smollm3-3b-think-24gb")
    assert think.chat_template_kwargs == {"enable_thinking": True}
    assert think.max_completion_length > parsed("react-smollm3-3b-24gb").max_completion_length


def test_a_later_part_wins_and_a_folder_name_is_no_recipe(tmp_path: Path) -> None:
    assert read_recipe("react-phi4-mini-reasoning-24gb").settings["max_completion_length"] == 3584
    assert read_recipe("react-phi4-mini-8gpu").hardware == Hardware("80GB", 4, 4)
    with pytest.raises(UserError, match=r"did you mean react-qwen2\.5-3b-80gb"):
        read_recipe("react-qwen2.5-3b-80g")
    own = tmp_path / "own.yaml"
    own.write_text("model: m\nhardware: {gpus: 3}\n")
    with pytest.raises(UserError, match="hardware is a mapping"):
        read_recipe(str(own))


@pytest.mark.parametrize(("text", "gib"), [("24GB", 24), ("80", 80), ("79.2 GiB", 79.2), ("141gb", 141)])
def test_a_gpu_is_named_by_its_memory(text: str, gib: float) -> None:
    assert gpu_bytes(text) == gib * GIB


def test_a_dry_run_says_what_would_be_and_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["train", "--config", "react-phi4-mini-8gpu", "--dry-run"]) == 0
    said = capsys.readouterr().out
    resolved = yaml.safe_load(said[: said.index("\n\n")])
    assert resolved["learning_rate"] == 5e-7
    assert "use_cpu" not in resolved
    assert "8 prompts x 8 completions = 64 a step, in 8 micro-batches of 2 on 4 processes" in said
    assert "microsoft/Phi-4-mini-instruct: 3,836,021,760 parameters; all are trained" in said
    for part in ("weights", "optimizer", "gradients", "activations", "logits"):
        assert f"\n  {part} " in said
    serve = "vllm serve microsoft/Phi-4-mini-instruct --tensor-parallel-size 4 --max-model-len 2048 --port 8000"
    assert f"CUDA_VISIBLE_DEVICES=4,5,6,7 VLLM_SERVER_DEV_MODE=1 {serve} --weight-transfer-config" in said
    assert "fits 80GB" in said
    assert list(tmp_path.iterdir()) == []


def test_a_dry_run_ends_with_1_where_it_does_not_fit(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "--config", "aime-qwen2.5-3b-80gb", "--dry-run", "--gpu", "48GB"]) == 1
    assert "does not fit 48GB" in capsys.readouterr().out
    assert main(["train", "--config", "aime-phi4-mini-24gb", "--dry-run", "--gpu=16GB"]) == 1
    assert main(["train", "--config", "react-smollm2-cpu", "--dry-run"]) == 0
    said = capsys.readouterr().out
    assert "smollm2-135m: 134,515,008 parameters; an adapter of" in said
    assert "folded weights" in said


def test_too_few_processes_are_noted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = ["--output_dir", str(tmp_path / "run"), "--prompts", "nothing.jsonl"]
    assert main(["train", "--config", "react-qwen2.5-3b-8gpu", *out]) == 2
    assert "for 4 processes (--nproc 4)" in capsys.readouterr().err
    assert main(["train", "--config", "react-qwen2.5-3b-24gb", *out]) == 2
    assert "processes" not in capsys.readouterr().err


def test_lengths_beyond_longropes_bound_are_noted(capsys: pytest.CaptureFixture[str]) -> None:
    more = ["--max_completion_length", "6000", "--vllm_max_model_length", "6512"]
    main(["train", "--config", "aime-phi4-mini-80gb", "--dry-run", *more])
    assert "beyond 4,096 tokens" in capsys.readouterr().out
