"""The engines of an evaluation: transformers with tiny models, and a real HTTP server that fails in many ways."""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from eval_runs import hf, knows, problems, save_policy
from judge_server import Body, JudgeServer, completion, judge_server
from tiny_trainer import EOS, byte_tokenizer, tiny_llama, with_lora
from transformers import AutoModelForCausalLM
from werkzeug import Response

from bot_grpo.backends import (
    Completion,
    Prompter,
    Request,
    Sampling,
    adapter_base,
    plain_text,
    policy_folder,
    room,
    sample_seed,
)
from bot_grpo.errors import UserError
from bot_grpo.eval_hf import HFBackend
from bot_grpo.eval_openai import OpenAIBackend
from bot_grpo.evaluate import requests

CHATML = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}{% if add_generation_prompt %}<a>{% endif %}"


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_policy(tmp_path_factory.mktemp("policy"), template=CHATML)


def sampled(backend: Any, asked: list[Request], known: set[tuple[str, int]] = frozenset()) -> dict[Any, Completion]:  # type: ignore[assignment]
    found: dict[Any, Completion] = {}

    def on_done(done: Any) -> None:
        for request, one in done:
            assert request.key not in found, "each is handed over once"
            found[request.key] = one

    assert backend.sample(asked, known, on_done) == []
    return found


# -- prompts ----------------------------------------------------------------------------------------------------------


def test_a_chat_goes_through_the_models_template_and_without_one_it_is_plain_text() -> None:
    chat = (("system", "Be brief."), ("user", "2 + 2?"))
    tokenizer = byte_tokenizer()
    plain = Prompter(tokenizer, {})
    assert plain.plain
    assert tokenizer.decode(plain(chat)) == plain_text(chat) == "Be brief.\n\n2 + 2?\n\n"
    tokenizer.chat_template = CHATML + "{% if brief %}!{% endif %}"
    assert tokenizer.decode(Prompter(tokenizer, {})(chat)) == "<system>Be brief.<user>2 + 2?<a>"
    assert tokenizer.decode(Prompter(tokenizer, {"brief": True})(chat)).endswith("<a>!")
    tokenizer.chat_template = "{{ raise_exception('System role not supported') }}"
    with pytest.raises(UserError, match="template refuses the prompt: System role not supported"):
        Prompter(tokenizer, {})(chat)


def test_the_room_for_an_answer_is_what_the_longest_prompt_leaves() -> None:
    prompts = {"a": [0] * 10, "b": [0] * 100}
    assert room(prompts, 128, Sampling()) == 28
    assert room(prompts, 128, Sampling(max_tokens=28)) == 28
    assert room(prompts, 100_000, Sampling()) == 8192
    assert room(prompts, None, Sampling()) == 8192
    assert room(prompts, None, Sampling(max_tokens=30_000)) == 30_000
    with pytest.raises(
        UserError, match=r"'b' has 100 tokens.*--max-tokens 29.*context of 128: at most --max-tokens 28"
    ):
        room(prompts, 128, Sampling(max_tokens=29))
    with pytest.raises(UserError, match="there is no room to answer"):
        room(prompts, 100, Sampling())


# -- transformers -----------------------------------------------------------------------------------------------------


def test_greedy_samples_are_those_of_transformers(policy: Path) -> None:
    asked = requests(problems(4), 2, 0)
    found = sampled(hf(policy, temperature=0.0), asked)
    model, tokenizer = AutoModelForCausalLM.from_pretrained(policy), byte_tokenizer()
    for request in asked:
        ids = torch.tensor([tokenizer(f"<user>{request.messages[0][1]}<a>")["input_ids"]])
        out = model.generate(ids, max_new_tokens=10, do_sample=False, eos_token_id=EOS)[0, ids.size(1) :].tolist()
        one = found[request.key]
        ended = out[-1] == EOS
        assert one.text == tokenizer.decode(out, skip_special_tokens=True)
        assert (one.tokens, one.finish) == (len(out), "stop" if ended else "length")


def test_it_says_what_a_result_depends_on(policy: Path, tmp_path: Path) -> None:
    backend = hf(policy)
    assert backend.engine == {
        "name": "transformers",
        "dtype": "float32",
        "device": "cpu",
        "template": "chat",
        "threads": torch.get_num_threads(),
    }
    assert backend.notes == []
    plain = hf(save_policy(tmp_path))
    assert plain.engine["template"] == "plain"
    assert "no chat template" in plain.notes[0]


def test_a_known_batch_is_left_out_and_of_another_only_what_is_missing_is_told(policy: Path) -> None:
    asked = requests(problems(4), 3, 0)  # batches of 6: two problems each
    everything = sampled(hf(policy), asked)
    known = {*list(everything)[:6], ("p0", 1)}
    found = sampled(hf(policy), asked, known)
    assert found == {key: one for key, one in everything.items() if key not in known}


def test_an_adapter_is_sampled_from_with_its_base_model(policy: Path, tmp_path: Path) -> None:
    tuned = with_lora(tiny_llama(tied=False), warm=True)
    adapter = tmp_path / "adapter"
    tuned.peft_config["default"].base_model_name_or_path = str(policy)
    tuned.save_pretrained(adapter)
    assert adapter_base(str(adapter)) == str(policy)
    asked = requests(problems(3), 1, 0)
    found = sampled(hf(adapter, temperature=0.0), asked)  # the tokenizer is the base model's: there is none beside it
    tokenizer = byte_tokenizer()
    for request in asked:
        ids = torch.tensor([tokenizer(f"<user>{request.messages[0][1]}<a>")["input_ids"]])
        out = tuned.generate(input_ids=ids, max_new_tokens=10, do_sample=False, eos_token_id=EOS)[0, ids.size(1) :]
        assert found[request.key].text == tokenizer.decode(out, skip_special_tokens=True)
    assert found != sampled(hf(policy, temperature=0.0), asked), "the adapter must matter for this test"


def test_a_runs_folder_stands_for_its_model_or_its_last_checkpoint(tmp_path: Path) -> None:
    def make(name: str, *files: str) -> None:
        for file in files:
            (tmp_path / name).mkdir(parents=True, exist_ok=True)
            (tmp_path / name / file).write_text("{}")

    assert policy_folder("someone/model") == "someone/model"
    make("run", "config.yaml")
    with pytest.raises(UserError, match=r"no config\.json, adapter_config\.json, model/ or whole checkpoint"):
        policy_folder(str(tmp_path / "run"))
    make("run/checkpoints/checkpoint-9", "adapter_config.json", "trainer_state.json")
    make("run/checkpoints/checkpoint-10", "adapter_config.json", "trainer_state.json")
    make("run/checkpoints/checkpoint-11", "adapter_config.json")  # half-written
    assert policy_folder(str(tmp_path / "run")).endswith("checkpoint-10")
    make("run/model", "config.json")
    assert policy_folder(str(tmp_path / "run")) == str(tmp_path / "run" / "model")
    assert policy_folder(str(tmp_path / "run" / "model")) == str(tmp_path / "run" / "model")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ('{"base_model_name_or_path": "/nowhere/base"}', "no such folder"),
        ("{}", "is no adapter's config"),
        ("[", "is no"),
    ],
)
def test_a_broken_adapter_is_one_line(tmp_path: Path, content: str, says: str) -> None:
    (tmp_path / "adapter_config.json").write_text(content)
    with pytest.raises(UserError, match=says):
        HFBackend(str(tmp_path), Sampling())


# -- a server ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def server() -> Iterator[JudgeServer]:
    with judge_server() as server:
        server.answers = knows
        yield server


def ask(server: JudgeServer, asked: list[Request], **changes: Any) -> tuple[dict[Any, Completion], list[str]]:
    settings = {"base_url": server.url, "backoff_s": 0.0, "concurrency": 4} | changes
    backend = OpenAIBackend("m", Sampling(0.7, 0.9, 40, {"enable_thinking": False}), **settings)
    found: dict[Any, Completion] = {}
    reasons = backend.sample(asked, frozenset(), lambda done: found.update({r.key: c for r, c in done}))
    return found, reasons


def test_each_sample_is_a_request_with_its_own_seed(server: JudgeServer) -> None:
    together = threading.Barrier(4)

    def four_at_a_time(body: Body) -> str:
        together.wait(30)
        return knows(body)

    server.answers = four_at_a_time
    asked = requests(problems(3), 4, 5)
    found, reasons = ask(server, asked)
    assert reasons == []
    assert {r.key: knows({"messages": [{"content": r.messages[0][1]}], "seed": r.seed}) for r in asked} == {
        key: one.text for key, one in found.items()
    }
    assert sorted(b["seed"] for b in server.bodies) == sorted(
        sample_seed(5, f"p{i}", k) for i in range(3) for k in range(4)
    )
    (body,) = [b for b in server.bodies if b["seed"] == asked[0].seed]
    assert body == {
        "model": "m",
        "messages": [{"role": "user", "content": "0 times 7"}],
        "temperature": 0.7,
        "top_p": 0.9,
        "max_tokens": 40,
        "seed": asked[0].seed,
        "chat_template_kwargs": {"enable_thinking": False},
    }
    assert server.at_once == 4
    assert all((one.tokens, one.finish) == (10, "stop") for one in found.values())


def test_fields_of_the_body_can_be_added_and_taken_away(server: JudgeServer) -> None:
    ask(server, requests(problems(1), 1, 0), request={"max_tokens": None, "max_completion_tokens": 9, "top_p": None})
    (body,) = server.bodies
    assert "max_tokens" not in body
    assert "top_p" not in body
    assert body["max_completion_tokens"] == 9


def test_known_samples_are_not_asked_for(server: JudgeServer) -> None:
    asked = requests(problems(2), 2, 0)
    backend = OpenAIBackend("m", Sampling(), base_url=server.url)
    found = sampled(backend, asked, {asked[1].key})
    assert set(found) == {r.key for r in asked} - {asked[1].key}
    assert server.calls == 3
    assert sampled(backend, asked, {r.key for r in asked}) == {}


BUSY = Response('{"error": {"message": "slow down"}}', status=429, headers={"retry-after": "0.05"})
BROKEN = Response("oops", status=500)
CUT = Response('{"choices": [{"message": {"content": "\\\\boxed{', content_type="application/json")
NOTHING = Response("", content_type="application/json")


@pytest.mark.parametrize("bad", [BUSY, BROKEN, CUT, NOTHING], ids=["429", "500", "cut", "nothing"])
def test_what_passes_is_tried_again_and_nothing_is_lost(server: JudgeServer, bad: Response) -> None:
    failed: set[int] = set()
    lock = threading.Lock()

    def answers(body: Body) -> Any:
        with lock:
            if body["seed"] not in failed:
                failed.add(body["seed"])
                return bad
        return knows(body)

    server.answers = answers
    asked = requests(problems(3), 2, 0)
    found, reasons = ask(server, asked)
    assert (len(found), reasons) == (6, [])
    assert server.calls == 12


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        (BROKEN, "the server answers 500: oops"),
        (CUT, "what the server sent is no chat completion"),
        (Response('{"error": {"message": "context of 8 tokens"}}', status=400), "answers 400: context of 8 tokens"),
    ],
    ids=["500", "cut", "400"],
)
def test_what_does_not_pass_ends_soon_with_its_reason_and_what_came_is_kept(
    server: JudgeServer, bad: Response, says: str
) -> None:
    asked = requests(problems(20), 5, 0)
    good = {r.seed for r in asked[:7]}
    server.answers = lambda body: knows(body) if body["seed"] in good else bad
    found, reasons = ask(server, asked, retries=1)
    assert set(found) == {r.key for r in asked[:7]}
    assert len(reasons) == 93
    assert all(says in reason for reason in reasons)
    assert server.calls < 60, "a server that only fails is not asked for all of them"


def test_a_key_that_is_refused_ends_it_at_once(server: JudgeServer) -> None:
    server.answers = lambda body: Response('{"error": {"message": "bad key"}}', status=401)
    found, reasons = ask(server, requests(problems(20), 5, 0))
    assert found == {}
    assert len(reasons) == 100
    assert "401, the key is refused: bad key" in reasons[0]
    assert server.calls <= 4


def test_an_address_where_nobody_is() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        backend = OpenAIBackend("m", Sampling(), base_url=url, backoff_s=0.0, retries=1, concurrency=2)
        reasons = backend.sample(requests(problems(50), 2, 0), frozenset(), lambda done: None)
    assert len(reasons) == 100
    assert all("cannot be reached" in reason for reason in reasons)


def test_a_server_that_is_too_slow_is_said(server: JudgeServer) -> None:
    def slow(body: Body) -> str:
        time.sleep(1.0)
        return "late"

    server.answers = slow
    found, reasons = ask(server, requests(problems(2), 1, 0), timeout_s=0.2, retries=0)
    assert found == {}
    assert reasons[0] == "no answer within 0.2 s"


def test_limits_and_thoughts_are_told_apart(server: JudgeServer) -> None:
    asked = requests(problems(3), 1, 0)
    server.answers = lambda body: {
        asked[0].seed: completion("cut off", finish="length"),
        asked[1].seed: completion("\\boxed{7}", reasoning_content="first 0, then 7"),
        asked[2].seed: completion(None, finish="length", reasoning="round and round"),
    }[body["seed"]]
    found, _ = ask(server, asked)
    assert [found[r.key] for r in asked] == [
        Completion("cut off", 10, "length"),
        Completion("<think>\nfirst 0, then 7</think>\n\\boxed{7}", 10, "stop"),
        Completion("<think>\nround and round", 10, "length"),
    ]


def test_without_a_key_or_an_address_it_says_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(UserError, match="set OPENAI_API_KEY, or --base-url"):
        OpenAIBackend("m", Sampling())


def test_without_vllm_it_says_how_to_do_without() -> None:
    from bot_grpo.eval_vllm import VLLMBackend

    try:
        import vllm  # noqa: F401
    except ImportError:
        with pytest.raises(UserError, match=r"pip install vllm.*vllm serve MODEL.*--backend openai --base-url"):
            VLLMBackend("m", Sampling())
    else:
        pytest.skip("vLLM is installed here")


# -- vLLM -------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.vllm
@pytest.mark.timeout(3000)
def test_vllm_samples_with_the_embedded_model_and_goes_on(tmp_path: Path) -> None:
    """In the environment that $BOT_GRPO_VLLM_ENV names; it is built there if need be.

    With more prompts than vLLM takes in one step: those that it would take in part are where a CPU's engine died.
    """
    import subprocess

    import vllm_env

    place = vllm_env.folder()
    if place is None:
        pytest.skip("BOT_GRPO_VLLM_ENV names no folder for vLLM's environment")
    python = vllm_env.build(place)
    data, many = tmp_path / "p.jsonl", 60
    data.write_text(
        "".join(json.dumps({"id": str(i), "problem": f"What is {i} + 5?", "answer": i + 5}) + "\n" for i in range(many))
    )

    def run(n: int) -> list[dict[str, Any]]:
        command = [str(python), "-m", "bot_grpo", "eval", "aime", "--backend", "vllm", "--model", "smollm2-135m"]
        command += ["--data", str(data), "--n", str(n), "--max-tokens", "16", "--output", str(tmp_path / "out")]
        command += ["--engine-args", '{"enforce_eager": true, "max_model_len": 1024}']
        little = {**os.environ, "VLLM_CPU_KVCACHE_SPACE": "1"}  # GB
        done = subprocess.run(command, capture_output=True, text=True, timeout=1400, cwd=tmp_path, env=little)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
        assert "Pass@1" in done.stdout
        return [json.loads(line) for line in (tmp_path / "out" / "samples.jsonl").read_text().splitlines()]

    first = run(2)
    assert sorted((s["problem"], s["sample"]) for s in first) == sorted(
        (str(i), k) for i in range(many) for k in range(2)
    )
    assert len({s["text"] for s in first}) > 3
    assert all(0 < s["tokens"] <= 16 for s in first)
    more = run(3)
    assert more[: 2 * many] == first
    assert len(more) == 3 * many
    config = json.loads((tmp_path / "out" / "config.json").read_text())
    assert config["sessions"][0]["engine"]["name"] == "vllm"
    assert config["sessions"][0]["engine"]["version"]
