"""verl itself, in the environment that $BOT_GRPO_VERL_ENV names (built there if need be); skipped where none is."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
import verl_checks
import verl_env
import yaml
from golden_batch import golden
from tiny import save_tiny_model

from bot_grpo.integrations import verl_data
from bot_grpo.integrations.verl_batch import LAYOUTS, verl_name

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3000)]
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def python() -> Path:
    place = verl_env.folder()
    if place is None:
        pytest.skip("BOT_GRPO_VERL_ENV names no folder for verl's environment")
    return verl_env.build(place)


def run(python: Path, *arguments: object) -> str:
    world = os.environ | {"VERL_USE_EXTERNAL_MODULES": "bot_grpo.integrations.verl", "TOKENIZERS_PARALLELISM": "false"}
    world["RAY_worker_niceness"] = "0"  # Ray's 15 more starves its workers on a busy machine
    command = [python, verl_checks.__file__, *map(str, arguments)]
    done = subprocess.run(command, env=world, cwd=ROOT, capture_output=True, text=True, timeout=2000)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-6000:]
    return done.stdout


def test_verls_own_functions_give_the_reference_values(python: Path) -> None:
    golden()
    said = run(python, "core")
    assert all(f"{verl_name(name)} gives" in said for name in LAYOUTS)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    save_tiny_model(tmp_path)
    recipe = ["--config", "aime-qwen2.5-3b-80gb", "--prompts", "arithmetic:1", "--eval_prompts", "2"]
    assert verl_data.main([str(tmp_path / "data"), *recipe]) == 0
    return tmp_path


def test_a_rollout_goes_from_verls_agent_loop_to_its_loss(python: Path, model: Path) -> None:
    said = run(python, "alone", model)
    assert "as bag_of_tokens gives them" in said
    assert "verl's ppo_loss over three optimizer steps" in said


def test_token_rewards_come_through_verls_actors_on_a_local_ray(python: Path, model: Path) -> None:
    said = run(python, "ray", model)
    assert "8 rollouts came through bot_grpo_single_turn" in said
    assert "as bag_of_tokens gives them" in said
    assert "verl's ppo_loss over three optimizer steps" in said


def test_the_script_for_a_cluster_makes_a_config_that_verl_accepts(python: Path, tmp_path: Path) -> None:
    """verl's own entry point reads every override of the script and of the recipe, and would start with them."""
    script = ROOT / "bot_grpo" / "integrations" / "verl_cluster.sh"
    world = os.environ | {"PATH": f"{python.parent}:{os.environ['PATH']}", "OUT": str(tmp_path), "NODES": "3"}
    world |= {"DATA": "--prompts arithmetic:1 --eval_prompts 2", "MODEL": "smollm3-3b"}
    command = ["bash", str(script), "train", "aime", "algorithm.filter_groups.metric=outcome", "--cfg", "job"]
    done = subprocess.run(command, env=world, cwd=ROOT, capture_output=True, text=True, timeout=2000)
    assert done.returncode == 0, done.stdout[-1000:] + done.stderr[-4000:]
    config = yaml.safe_load(done.stdout)
    assert config["algorithm"]["adv_estimator"] == "bot_grpo"
    assert config["algorithm"]["filter_groups"]["metric"] == "outcome"
    assert config["actor_rollout_ref"]["actor"]["policy_loss"]["loss_mode"] == "bot_grpo"
    assert config["reward"]["num_workers"] == 24
    assert "window" in config["reward"]["bot_grpo"]["rewards"]
    forwarded = config["ray_kwargs"]["ray_init"]["runtime_env"]["env_vars"]
    assert forwarded["VERL_USE_EXTERNAL_MODULES"] == "bot_grpo.integrations.verl"
    assert (tmp_path / "aime" / "train.parquet").exists()
