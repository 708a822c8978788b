"""The recipes' three architectures without their weights, on a CPU: train, resume, merge, reload, evaluate."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import real_families
import tiny_trainer
import torch
import vllm_env
import vllm_stops
import yaml
from peft import PeftModel
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM

from bot_grpo import models
from bot_grpo.architecture import sizes
from bot_grpo.cli import main
from bot_grpo.generation import sample_groups
from bot_grpo.rundir import RunDir
from bot_grpo.train import set_stops

FLAGS = """
    --task aime --prompts arithmetic:1 --answer_form steps --algorithm bot_grpo --w_g 3 --w_s 0.5 --num_generations 2
    --per_device_train_batch_size 2 --gradient_accumulation_steps 2 --max_completion_length 12 --eval_strategy no
    --save_strategy steps --save_steps 1 --logging_steps 1 --activation_checkpointing true --learning_rate 1e-3
    --lr_scheduler_type constant --use_cpu true --report_to none
""".split()  # noqa: SIM905
REWARD = """
from reward_models.base import RewardSignal


class Letters:
    \"\"\"A STUB: how many characters a completion has, for a random model solves nothing.\"\"\"

    bound = 1.0

    def score(self, rollouts):
        return [RewardSignal(outcome=min(1.0, len(r.completion) / 64)) for r in rollouts]
"""
slow = pytest.mark.slow


@pytest.fixture(scope="module", params=list(real_families.FAMILIES))
def family(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def policy(family: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return real_families.save(family, tmp_path_factory.mktemp(family))


def letters(folder: Path) -> list[str]:
    """A reward that differs from one random completion to another."""
    (folder / "letters.py").write_text(REWARD)
    return ["--rewards", f"{folder / 'letters.py'}:Letters"]


def train(policy: Path, out: Path, family: str, *more: str) -> int:
    stop = ["--stop_tokens", *real_families.FAMILIES[family]["stop"]]
    think = ["--chat_template_kwargs", json.dumps({"enable_thinking": False})] if family == "smollm3" else []
    command = ["train", *FLAGS, *letters(policy), "--model", str(policy), "--output_dir", str(out)]
    return main([*command, *stop, *think, *more])


def evaluated(model: Path, out: Path) -> dict[str, Any]:
    flags = ["--data", "arithmetic:1", "--limit", "2", "--n", "2", "--max-tokens", "8", "--output", str(out)]
    assert main(["eval", "aime", "--model", str(model), *flags]) == 0
    lines = (out / "samples.jsonl").read_text().splitlines()
    assert len(lines) == 4
    return {(row["problem"], row["sample"]): row["text"] for row in map(json.loads, lines)}


def test_its_switches_and_stop_tokens(family: str, policy: Path) -> None:
    tokenizer, model = models.load_tokenizer(str(policy)), models.load_model(str(policy))
    stop = real_families.FAMILIES[family]["stop"]
    ids = models.stop_at(model, tokenizer, stop)
    assert {tokenizer.convert_ids_to_tokens(i) for i in ids} == set(stop)
    assert ids == model.generation_config.eos_token_id
    assert sizes(str(policy)).parameters == sum(p.numel() for p in model.parameters())
    chat = [{"role": "user", "content": "2 + 2?"}]
    shown = [
        tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True, enable_thinking=on)
        for on in (True, False)
    ]
    assert ("<think>" in shown[1]) == (family != "phi3")
    assert "<think>" not in shown[0]
    with pytest.raises(models.UserError, match="'<nothing>' is no token"):
        models.stop_at(model, tokenizer, ["<nothing>"])


@pytest.mark.parametrize("use_vllm", [False, True])
def test_vllm_is_told_the_stop_tokens_for_it_reads_no_model_of_ours(
    use_vllm: bool, policy: Path, family: str, tmp_path: Path
) -> None:
    args = tiny_trainer.config(tmp_path, use_vllm=use_vllm, stop_tokens=real_families.FAMILIES[family]["stop"])
    tokenizer, model = models.load_tokenizer(str(policy)), models.load_model(str(policy))
    set_stops(args, model, tokenizer)
    ids = model.generation_config.eos_token_id
    assert args.generation_kwargs == ({"stop_token_ids": ids} if use_vllm else None)


def test_the_sampler_stops_at_each_of_several_tokens(policy: Path) -> None:
    model = models.load_model(str(policy), dtype=torch.float32).eval()
    asked: dict[str, Any] = {"group_size": 24, "max_new_tokens": 4, "pad_token_id": 0, "seeds": list(range(24))}
    free = sample_groups(model, [[5, 6, 7]], eos_token_ids=[-1], **asked).ids
    stops = sorted({row[1] for row in free[:2]} | {free[2][2]})  # what some rows sample on their way
    held = sample_groups(model, [[5, 6, 7]], eos_token_ids=stops, **asked).ids
    for row, whole in zip(held, free, strict=True):
        end = next((i for i, token in enumerate(whole) if token in stops), 3)
        assert row == whole[: end + 1]
    assert {len(row) for row in held} >= {2, 3, 4}


@slow
@pytest.mark.vllm
@pytest.mark.timeout(3000)
def test_vllm_stops_at_each_of_several_tokens_and_keeps_it(tmp_path: Path) -> None:
    """In the environment that $BOT_GRPO_VLLM_ENV names; it is built there if need be."""
    place = vllm_env.folder()
    if place is None:
        pytest.skip("BOT_GRPO_VLLM_ENV names no folder for vLLM's environment")
    command = [str(vllm_env.build(place)), vllm_stops.__file__, str(tmp_path / "model")]
    world = os.environ | {"VLLM_CPU_KVCACHE_SPACE": "1"}
    done = subprocess.run(command, env=world, capture_output=True, text=True, timeout=2000)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    assert "stops [" in done.stdout


@slow
@pytest.mark.timeout(1200)
def test_an_adapter_trains_resumes_merges_and_evaluates(family: str, policy: Path, tmp_path: Path) -> None:
    straight, out = tmp_path / "straight", tmp_path / "run"
    lora = ["--lora_r", "2", "--model_dtype", "bfloat16", "--bf16", "true"]
    assert train(policy, straight, family, *lora, "--max_steps", "2") == 0
    assert train(policy, out, family, *lora, "--max_steps", "1") == 0
    assert train(policy, out, family, *lora, "--max_steps", "2", "--resume", "auto") == 0
    ours, theirs = (load_file(run / "model" / "adapter_model.safetensors") for run in (out, straight))
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)
    assert any(value.abs().max() > 0 for name, value in ours.items() if "lora_B" in name), "nothing was trained"
    assert real_families.FAMILIES[family]["modules"] <= {name.split(".")[-3] for name in ours}
    assert not [name for name in ours if "lm_head" in name or "embed" in name]

    base = models.load_model(str(policy), dtype=torch.float32)
    adapted = PeftModel.from_pretrained(base, str(out / "model")).eval()
    ids = torch.arange(100, 120)[None]
    with torch.no_grad():
        before = adapted(ids).logits
    merged: Any = adapted.merge_and_unload()
    merged.save_pretrained(tmp_path / "merged")
    models.load_tokenizer(str(policy)).save_pretrained(tmp_path / "merged")
    again = AutoModelForCausalLM.from_pretrained(tmp_path / "merged", dtype=torch.float32).eval()
    with torch.no_grad():
        torch.testing.assert_close(again(ids).logits, before, rtol=1e-4, atol=1e-5)
    think = {"enable_thinking": False} if family == "smollm3" else {}
    assert len(evaluated(out, tmp_path / "a")) == len(evaluated(tmp_path / "merged", tmp_path / "b")) == 4
    asked = json.loads((tmp_path / "a" / "config.json").read_text())["settings"]
    assert asked["chat_template"] == think, "a run is asked as it was trained"


@slow
@pytest.mark.timeout(1200)
def test_all_weights_train_and_the_saved_model_knows_its_stops(family: str, policy: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    assert (
        train(policy, out, family, "--lora_r", "0", "--model_dtype", "float32", "--bf16", "true", "--max_steps", "1")
        == 0
    )
    start = models.load_model(str(policy), dtype=torch.float32).state_dict()
    saved = models.load_model(str(out / "model"), dtype=torch.float32)
    moved = [name for name, value in saved.state_dict().items() if not torch.equal(value, start[name])]
    assert len(moved) > 0.9 * len(start)
    tokenizer = models.load_tokenizer(str(policy))
    kept = saved.generation_config.eos_token_id  # type: ignore[union-attr]
    stops = {tokenizer.convert_ids_to_tokens(i) for i in ([kept] if isinstance(kept, int) else kept)}
    assert stops == set(real_families.FAMILIES[family]["stop"])
    assert evaluated(out, tmp_path / "eval")


@slow
@pytest.mark.timeout(1200)
def test_two_processes_leave_one_run(tmp_path: Path) -> None:
    policy = real_families.save("qwen2", tmp_path / "policy")
    out = tmp_path / "run"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "bot_grpo", "train", *FLAGS, "--model", str(policy), "--output_dir", str(out)]
    command += ["--lora_r", "0", "--model_dtype", "float32", "--max_steps", "2"]
    command += ["--gradient_accumulation_steps", "1", *letters(tmp_path)]
    ranks = []
    for rank in range(2):
        world = {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2", "ACCELERATE_USE_CPU": "true"}
        world |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "OMP_NUM_THREADS": "1"}
        ranks.append(
            subprocess.Popen(
                command, env=os.environ | world, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
            )
        )
    said = [process.communicate(timeout=1100)[0] for process in ranks]
    assert [process.returncode for process in ranks] == [0, 0], "\n".join(said)[-4000:]
    assert "2 prompts x 2 completions = 4 a step, in 1 micro-batches of 2 on 2 processes" in said[0]
    assert "done:" in said[0]
    assert said[1].strip() == ""
    assert [row["step"] for row in RunDir(out).read_metrics() if "loss" in row] == [1, 2]
    assert json.loads((out / "summary.json").read_text())["finished"] is True
    assert yaml.safe_load((out / "config.yaml").read_text())["lora_r"] == 0
    assert len(list((out / "rollouts").glob("step-rank*.parquet"))) == 4
