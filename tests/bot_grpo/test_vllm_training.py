"""Training on rollouts that vLLM samples: what is said where it can't be, and real runs in vLLM's own environment."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import tiny_trainer as tiny
import vllm_env
import vllm_train
from trl.generation.vllm_client import VLLMClient

from bot_grpo.alarms import Alarms
from bot_grpo.errors import UserError
from bot_grpo.train import train
from bot_grpo.vllm_setup import check, explained, settle

LITTLE = {
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_CI_ENV": "1",
    "OMP_NUM_THREADS": "1",
    "TRL_EXPERIMENTAL_SILENCE": "1",
}
"""One GB of cache, and nothing is compiled."""


@pytest.mark.skipif(find_spec("vllm") is not None, reason="vLLM is installed here")
def test_without_vllm_it_says_so_before_it_loads_anything(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"vLLM is not installed here: pip install .* --use_vllm false"):
        train(tiny.config(tmp_path / "run", use_vllm=True))
    assert not (tmp_path / "run").exists()


def test_all_weights_on_a_cpu_are_refused_for_vllm_does_not_take_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot_grpo.vllm_setup.find_spec", lambda name: name)
    asked = {"use_vllm": True, "use_cpu": True, "vllm_mode": "colocate"}
    with pytest.raises(UserError, match="does not take all new weights; train an adapter"):
        check(SimpleNamespace(**asked, lora_r=0))
    check(SimpleNamespace(**asked, lora_r=8))
    check(SimpleNamespace(**asked | {"use_cpu": False}, lora_r=0))


def test_a_tail_that_vllm_cuts_off_is_noted(tmp_path: Path) -> None:
    assert tiny.config(tmp_path, use_vllm=True).notes() == []
    (note,) = tiny.config(tmp_path, use_vllm=True, top_p=0.9).notes()
    assert "vLLM samples from less than the policy" in note


@pytest.mark.parametrize("own", [{}, {"stop_token_ids": [7]}])
def test_vllm_is_told_what_ends_a_completion_unless_one_has_said_so(own: dict[str, Any]) -> None:
    generation = SimpleNamespace(generation_kwargs=dict(own), mode="server")
    settle(generation, [9, 5])
    assert generation.generation_kwargs == (own or {"stop_token_ids": [5, 9]})


def unreachable() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        VLLMClient.check_server(SimpleNamespace(base_url=f"http://127.0.0.1:{taken.getsockname()[1]}"), 0.0)


def without_updates() -> None:
    answer = SimpleNamespace(status_code=404)
    session = SimpleNamespace(get=lambda url, params: answer)
    VLLMClient.get_server_info(SimpleNamespace(session=session, base_url="http://vllm"))


def without_transfer() -> None:
    server = SimpleNamespace(get_server_info=lambda: {"weight_transfer_config": None}, base_url="http://vllm")
    VLLMClient.init_communicator(server)


SERVE = "VLLM_SERVER_DEV_MODE=1 vllm serve m --weight-transfer-config"


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        (unreachable, f"no vLLM server answers at http://h:1 after 3 seconds; start it: {SERVE}"),
        (without_updates, f"http://h:1 takes no weights; start it in this way: {SERVE}"),
        (without_transfer, f"http://h:1 takes no weights; start it in this way: {SERVE}"),
    ],
)
def test_what_trls_client_says_of_a_server_is_one_line(broken: Callable[[], None], says: str) -> None:
    where = {"vllm_server_base_url": "http://h:1", "vllm_server_timeout": 3.0}
    args = SimpleNamespace(use_vllm=True, vllm_mode="server", model="m", **where)
    with pytest.raises(UserError, match=says), explained(args):
        broken()
    with pytest.raises(ZeroDivisionError), explained(args):
        _ = 1 / 0


# -- real runs --------------------------------------------------------------------------------------------------------


def in_its_environment(*words: Any) -> dict[str, Any]:
    """What `vllm_train.py` prints, run there."""
    place = vllm_env.folder()
    if place is None:
        pytest.skip("BOT_GRPO_VLLM_ENV names no folder for vLLM's environment")
    command = [vllm_env.build(place), vllm_train.__file__, *words]
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, timeout=1200, env={**os.environ, **LITTLE}
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    last = done.stdout.strip().splitlines()[-1:]
    return json.loads(last[0]) if words[1] != "policy" else {}


def _answers(port: int) -> bool:
    with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5) as reply:
        return bool(reply.status == 200)
    return False


def heard(rows: list[dict[str, float]]) -> list[str]:
    alarms = Alarms()
    return [name for row in rows for name in alarms.step(row) if "sampler" in name]


@pytest.mark.slow
@pytest.mark.vllm
@pytest.mark.timeout(1500)
def test_vllm_in_the_trainers_process_answers_with_the_new_weights(tmp_path: Path) -> None:
    in_its_environment(tmp_path, "policy", "")
    seen = in_its_environment(tmp_path, "colocate", "lora")
    rows = seen["rows"]
    print(
        [round(row["sampler/gap"], 4) for row in rows],
        "stale",
        seen["stale"],
        "fresh",
        seen["fresh"],
        "moved",
        seen["moved"],
    )
    assert len(rows) == vllm_train.STEPS
    assert all(row["sampler/unknown"] == 0 for row in rows)
    assert heard(rows) == []
    assert seen["fresh"] < 0.05
    assert seen["stale"] > 3 * seen["fresh"], "one update must show, or the test shows nothing"
    assert seen["stops"] == sorted(seen["eos"]) == [tiny.EOS]


@pytest.mark.slow
@pytest.mark.vllm
@pytest.mark.timeout(1500)
def test_a_vllm_server_gets_our_settings_and_one_with_old_weights_is_heard(tmp_path: Path) -> None:
    """No weights reach it, for they travel over NCCL: see vllm_train.py for what stands in."""
    in_its_environment(tmp_path, "policy", "")
    place = vllm_env.folder()
    assert place is not None
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [vllm_env.build(place), "-m", "trl.scripts.vllm_serve", "--model", tmp_path / "policy"]
    command += ["--host", "127.0.0.1", "--port", port, "--max_model_len", 64, "--gpu_memory_utilization", 0.1]
    command += ["--enforce_eager", "true"]
    with (tmp_path / "server.txt").open("w") as log:
        server = subprocess.Popen(
            list(map(str, command)), stdout=log, stderr=log, env={**os.environ, **LITTLE}, start_new_session=True
        )
    try:
        while not _answers(port):
            assert server.poll() is None, "the server has ended"
            time.sleep(1)
        seen = in_its_environment(tmp_path, "server", f"http://127.0.0.1:{port}")
    except AssertionError as error:
        raise AssertionError((tmp_path / "server.txt").read_text()[-3000:]) from error
    finally:
        with suppress(ProcessLookupError):  # it has ended by itself
            os.killpg(server.pid, signal.SIGTERM)
        server.wait(60)
    rows = seen["rows"]
    print([(round(row["sampler/gap"], 4), round(row["sampler/ratio"], 3)) for row in rows])
    assert "NCCL, which needs a CUDA device here; use vllm_mode: colocate" in seen["refused"]
    asked, want = seen["asked"], {"n": 4, "temperature": 0.8, "top_p": 0.9, "top_k": 200, "min_p": 0.01}
    want |= {"repetition_penalty": 1.0, "max_tokens": 16, "logprobs": 0, "stop_token_ids": [tiny.EOS]}
    assert {name: asked[name] for name in want} == want
    assert seen["prompts"] == 4, "each prompt once, for its four completions"
    assert 0.7 < rows[0]["sampler/ratio"] < 0.95, "the share of the policy that top_p, top_k and min_p leave"
    assert set(heard(rows)) & {"sampler_gap", "stale_sampler"}
    assert rows[-1]["sampler/kl"] > 3 * rows[0]["sampler/kl"]
