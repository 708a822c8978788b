"""An export is what was trained, as plain weights; its card says how; a push sends it; what goes wrong is one line."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import huggingface_hub.constants
import pytest
import real_families
import tiny_trainer
import torch
import vllm_env
import yaml
from hub_stub import StubHub
from huggingface_hub import ModelCard
from peft import LoraConfig, PeftModel, get_peft_model
from pytest_httpserver import HTTPServer
from safetensors import safe_open
from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig, LlamaConfig, LlamaForCausalLM

from bot_grpo import models, publish
from bot_grpo.architecture import sizes
from bot_grpo.backends import policy_folder
from bot_grpo.cli import main
from bot_grpo.config import BoTGRPOConfig
from bot_grpo.errors import UserError
from bot_grpo.generation import FoldedPolicy
from bot_grpo.model_card import card
from bot_grpo.recipe_files import read_recipe
from tasks.base import read_records
from tasks.errors import TaskError
from tasks.hub import reachable

TEMPLATE = "{% for m in messages %}[{{ m.role }}] {{ m.content }}\n{% endfor %}{{ 'think' if think else 'say' }}: "
SETTINGS: dict[str, Any] = {
    "output_dir": "/home/someone/runs/mine",
    "algorithm": "bot_grpo",
    "task": "react",
    "tier": "tiny",
    "temperature": 0.8,
    "stop_tokens": ["a"],
    "chat_template_kwargs": {"think": False},
    "system_prompt": "Code only.",
    "rewards": [{"model": "/home/someone/letters.py:Letters", "args": {"api_key": "hf_secret", "n": 1}, "w_g": 2.0}],
    "lora_r": 4,
    "seed": 3,
    "w_g": 1.0,
    "w_s": 0.5,
    "versions": {"torch": "0.0"},
    "commit": "abc",
}
LETTERS = """
from reward_models.base import RewardSignal


class Letters:
    bound = 1.0

    def score(self, rollouts):
        return [RewardSignal(outcome=len(r.completion) / 64) for r in rollouts]
"""


def weights_of(folder: Path) -> dict[str, tuple[list[int], str]]:
    found = {}
    for file in folder.glob("*.safetensors"):
        with safe_open(file, "pt") as weights:
            found |= {k: (weights.get_slice(k).get_shape(), weights.get_slice(k).get_dtype()) for k in weights.keys()}  # noqa: SIM118
    return found


def save_adapter(base: Path, folder: Path, modules: Any = "all-linear") -> Any:
    """A LoRA adapter that changes the logits, on the model in `base`, with the tokenizer that is there."""
    model = AutoModelForCausalLM.from_pretrained(base)
    torch.manual_seed(1)
    peft = get_peft_model(model, LoraConfig(r=4, lora_alpha=8, target_modules=modules, task_type="CAUSAL_LM"))
    for name, parameter in peft.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(parameter, std=0.1)
    peft.save_pretrained(folder)
    AutoTokenizer.from_pretrained(base).save_pretrained(folder)
    return peft.eval()


def write_run(run: Path, **changes: Any) -> None:
    """The files of a run beside its model: settings and metrics, which are invented."""
    run.mkdir(parents=True, exist_ok=True)
    (run / "config.yaml").write_text(yaml.safe_dump(SETTINGS | changes))
    rows: list[dict[str, Any]] = [{"step": 0, "eval/compile_rate": 0.25, "eval/render_rate": 0.1}]
    rows += [{"step": step, "reward/outcome": step / 10, "loss": 0.0} for step in range(1, 5)]
    rows += [{"step": 4, "eval/compile_rate": 0.896, "eval/render_rate": 0.5}]
    rows += [{"step": 8, "eval/compile_rate": 0.99, "eval/render_rate": 0.99, "loss": 0.0}]
    (run / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("base")
    model = tiny_trainer.tiny_llama().to(torch.bfloat16)
    model.save_pretrained(folder)
    tokenizer = tiny_trainer.byte_tokenizer()
    tokenizer.chat_template = TEMPLATE
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def run(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with its model and a checkpoint of step 4."""
    run = tmp_path_factory.mktemp("runs") / "mine"
    write_run(run)
    save_adapter(base, run / "model")
    shutil.copytree(run / "model", run / "checkpoints" / "checkpoint-4")
    (run / "checkpoints" / "checkpoint-4" / "trainer_state.json").write_text("{}")
    return run


@pytest.fixture(scope="module")
def exported(run: Path) -> Path:
    assert main(["export", str(run)]) == 0
    return run / "export"


IDS = torch.arange(40, 70)[None]


def test_the_merged_model_is_the_one_that_was_trained(base: Path, run: Path, exported: Path) -> None:
    assert weights_of(exported) == weights_of(base), "names, shapes and dtype of the base; nothing tied twice"
    model = AutoModelForCausalLM.from_pretrained(exported)
    with torch.random.fork_rng():
        policy = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(base), str(run / "model")).eval()
    sampled_from = FoldedPolicy(policy).refresh().state_dict()
    for name, value in model.state_dict().items():
        assert torch.equal(value, sampled_from[name]), f"{name} is another than the sampler folds"
    config = json.loads((exported / "config.json").read_text())
    own = json.loads((base / "config.json").read_text())
    assert {k: v for k, v in config.items() if k != "transformers_version"} == {
        k: v for k, v in own.items() if k != "transformers_version"
    }
    assert not list(exported.glob("adapter*"))


def test_its_logits_are_the_adapters_in_float32(base: Path, run: Path, tmp_path: Path) -> None:
    assert main(["export", str(run), "--output", str(tmp_path / "out"), "--dtype", "float32"]) == 0
    wide = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)
    policy = PeftModel.from_pretrained(wide, str(run / "model")).eval()
    merged = AutoModelForCausalLM.from_pretrained(tmp_path / "out").eval()
    assert merged.dtype == torch.float32
    with torch.no_grad():
        ours, theirs = merged(IDS).logits, policy(IDS).logits
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4)
        with policy.disable_adapter():
            assert (theirs - policy(IDS).logits).abs().max() > 0.1, "the adapter changes nothing"


def test_it_stops_samples_and_asks_as_in_training(run: Path, exported: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(exported)
    found = GenerationConfig.from_pretrained(exported)
    assert found.eos_token_id == [tiny_trainer.EOS, tokenizer.convert_tokens_to_ids("a")]
    assert (found.temperature, found.do_sample, found.top_p, found.top_k) == (0.8, True, 1.0, 0)
    chat = [{"role": "user", "content": "hi"}]
    asked = {"tokenize": False, "add_generation_prompt": True}
    assert tokenizer.apply_chat_template(chat, **asked) == "[user] hi\nsay: "
    assert tokenizer.apply_chat_template(chat, think=True, **asked) == "[user] hi\nthink: ", "a default, not a rule"


def test_values_of_a_template_are_as_jinja_has_them() -> None:
    made = publish.with_defaults("{{ a }}|{{ b }}|{{ c }}|{{ d }}", {"a": True, "b": None, "c": 'x "y"\n', "d": [1]})
    tokenizer = tiny_trainer.byte_tokenizer()
    tokenizer.chat_template = made
    assert tokenizer.apply_chat_template([{"role": "user", "content": ""}], tokenize=False) == 'True|None|x "y"\n|[1]'


def test_the_card_is_one_that_the_hub_reads(exported: Path) -> None:
    card = ModelCard.load(exported / "README.md")
    assert card.data.library_name == "transformers"
    assert card.data.pipeline_tag == "text-generation"
    assert {"bot-grpo", "bot_grpo", "react"} <= set(card.data.tags)
    by_metric = {result.metric_type: result for result in card.data.eval_results}
    assert by_metric["compile_rate"].metric_value == 0.99
    assert "step 8" in str(by_metric["compile_rate"].metric_name)
    assert "base_model" not in card.data.to_dict(), "a folder of this machine is no model of the hub"
    text = card.text
    for words in (
        "A_kt    = (r_kt - mu) / (sigma + eps)",
        "2610.09804",
        "`letters.py:Letters` (w_g 2.0)",
        "curves.svg",
    ):
        assert words in text
    assert "| Compiles | 25 % | 99 % |" in text
    assert "commit `abc`" in text
    assert "\n# mine\n" in text, "it is called as its run is"
    assert not re.search(r"\n\n\n", text)


def test_its_settings_are_a_recipe(exported: Path) -> None:
    found = read_recipe(str(exported / "training.yaml")).settings
    assert found["algorithm"] == "bot_grpo"
    assert {key for key in found if key not in BoTGRPOConfig.__dataclass_fields__} == set()


def test_nothing_secret_and_nothing_of_this_machine_is_published(exported: Path, run: Path) -> None:
    for file in ("README.md", "training.yaml", "curves.svg", "config.json"):
        text = (exported / file).read_text()
        assert "hf_secret" not in text, file
        assert "/home/someone" not in text, file
        assert str(run.parent) not in text, file
    assert "<svg" in (exported / "curves.svg").read_text()


def test_the_cards_example_runs(exported: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    code = re.search(r"```python\n(.*?)```", (exported / "README.md").read_text(), re.DOTALL)
    assert code is not None
    assert '"content": "Code only."' in code[1]
    monkeypatch.chdir(exported.parent)
    torch.manual_seed(0)
    exec(code[1].replace("max_new_tokens=512", "max_new_tokens=4"), {})
    assert capsys.readouterr().out


def test_a_checkpoint_has_the_figures_of_its_step(run: Path, tmp_path: Path, capsys: Any) -> None:
    checkpoint = run / "checkpoints" / "checkpoint-4"
    assert main(["export", str(checkpoint)]) == 2
    assert "checkpoint-4 is a checkpoint, not a run: say where to write, --output DIR" in capsys.readouterr().err
    assert main(["export", str(checkpoint), "--output", str(tmp_path / "out")]) == 0
    text = (tmp_path / "out" / "README.md").read_text()
    assert "| Compiles | 25 % | 90 % |" in text
    assert "99 %" not in text
    assert yaml.safe_load((tmp_path / "out" / "training.yaml").read_text())["step"] == 4


def test_the_adapter_alone(base: Path, run: Path, tmp_path: Path) -> None:
    assert main(["export", str(run), "--adapter-only", "--output", str(tmp_path / "out")]) == 0
    assert not (tmp_path / "out" / "model.safetensors").exists()
    plain = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)
    ours = PeftModel.from_pretrained(plain, str(tmp_path / "out")).eval()
    theirs = PeftModel.from_pretrained(
        AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32), str(run / "model")
    )
    with torch.no_grad():
        assert torch.equal(ours(IDS).logits, theirs.eval()(IDS).logits)
    card = ModelCard.load(tmp_path / "out" / "README.md")
    assert card.data.library_name == "peft"
    assert "PeftModel" in card.text
    assert policy_folder(str(tmp_path / "out")) == str(tmp_path / "out"), "eval takes it"


def test_an_embedded_base_is_called_the_same_on_every_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BOT_GRPO_CACHE", str(tmp_path))
    assert publish.base_name(str(tmp_path / "SmolLM2-135M-Instruct.Q4_1-98362432")) == models.EMBEDDED
    assert publish.base_name("Qwen/Qwen2.5-3B") == "Qwen/Qwen2.5-3B"


def test_a_base_and_a_data_set_of_the_hub_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    asked: dict[str, Any] = {"kind": "merged", "dtype": "bfloat16", "step": 4, "evaluations": (), "name": "a/b"}
    settings = SETTINGS | {"prompts": "nobody/prompts", "task": "aime"}
    text, curves = card(settings, [], base="Qwen/Qwen2.5-3B-Instruct", title="b", **asked)
    data = ModelCard(text).data
    assert (data.base_model, data.datasets, data.eval_results) == ("Qwen/Qwen2.5-3B-Instruct", ["nobody/prompts"], None)
    assert curves == ""
    assert "## Results" not in text
    (tmp_path / "Qwen" / "Qwen2.5-3B-Instruct").mkdir(parents=True)
    text, _ = card(settings, [], base="Qwen/Qwen2.5-3B-Instruct", title="b", **asked)
    assert ModelCard(text).data.base_model is None, "a folder of that name is who knows what"
    data = ModelCard(card(settings, [], base=models.EMBEDDED, title="b", **asked)[0]).data
    assert (data.base_model, data.license) == ("HuggingFaceTB/SmolLM2-135M-Instruct", "apache-2.0")


def test_all_weights_and_a_model_without_its_run(base: Path, tmp_path: Path) -> None:
    assert main(["export", str(base), "--output", str(tmp_path / "out"), "--dtype", "float16"]) == 0
    assert {dtype for _, dtype in weights_of(tmp_path / "out").values()} == {"F16"}
    text = (tmp_path / "out" / "README.md").read_text()
    assert "it came without its run" in text
    assert "## Training" not in text
    assert GenerationConfig.from_pretrained(tmp_path / "out").temperature in (None, 1.0)


def evaluation(folder: Path, model: Path) -> Path:
    """An INVENTED results.json of `bot-grpo eval`."""
    folder.mkdir()
    ends = {"by_problem": [0.2, 0.6], "two_level": [0.1, 0.7]}
    settings = {"task": "aime", "data": "arithmetic:1", "split": "test", "model": str(model), "temperature": 0.6}
    found = {
        "settings": settings | {"top_p": 0.95}, "n": 4, "problems": 7, "pass_at_k": [{"k": 1, "value": 0.4137, **ends}],
        "parts": {}, "notes": ["3 samples could not be graded: too long"],
    }  # fmt: skip
    (folder / "results.json").write_text(json.dumps(found))
    return folder


def test_an_evaluation_of_this_model_is_on_the_card_and_none_of_another(
    base: Path, run: Path, tmp_path: Path, capsys: Any
) -> None:
    own, other = evaluation(tmp_path / "own", run), evaluation(tmp_path / "other", base)
    out = ["--output", str(tmp_path / "out"), "--adapter-only"]
    assert main(["export", str(run), *out, "--evaluation", str(own)]) == 0
    card = ModelCard.load(tmp_path / "out" / "README.md")
    assert {r.metric_type: r.metric_value for r in card.data.eval_results}["pass@1"] == 0.4137
    assert "| Pass@1 | 41.4 % | 20.0 to 60.0 % |" in card.text
    assert "3 samples could not be graded" in card.text
    for wrong, words in ((other, f"is of {base}"), (tmp_path, "no results.json")):
        assert main(["export", str(run), *out, "--evaluation", str(wrong)]) == 2
        assert words in capsys.readouterr().err


def test_what_is_in_the_way_stays(run: Path, tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("dear")
    for output, words in (
        (tmp_path / "full", "something else than an export"),
        (Path("/proc/x"), "cannot write /proc/x"),
    ):
        assert main(["export", str(run), "--output", str(output)]) == 2
        assert words in capsys.readouterr().err
    assert (tmp_path / "full" / "thesis.tex").read_text() == "dear"
    assert main(["export", str(tmp_path / "full")]) == 2
    assert "no config.json, adapter_config.json, model/ or whole checkpoint" in capsys.readouterr().err
    assert main(["export", str(tmp_path / "nowhere")]) == 2
    assert "is no run, checkpoint, adapter or model" in capsys.readouterr().err


def test_an_export_is_whole_or_the_earlier_one(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    out = tmp_path / "out"
    assert main(["export", str(run), "--adapter-only", "--output", str(out)]) == 0
    before = sorted(p.name for p in out.iterdir())

    def full(*args: Any, **kwargs: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(publish, "_write_card", full)
    capsys.readouterr()
    assert main(["export", str(run), "--output", str(out)]) == 2
    assert "no space left" in capsys.readouterr().err
    assert sorted(p.name for p in out.iterdir()) == before
    assert [p.name for p in tmp_path.iterdir()] == ["out"], "nothing half-written is left"


def test_settings_that_cannot_go_together(base: Path, run: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is no adapter"):
        publish.export(publish.find_source(str(base)), tmp_path / "out", adapter_only=True)
    with pytest.raises(UserError, match="leave --dtype out"):
        publish.export(publish.find_source(str(run)), tmp_path / "out", adapter_only=True, dtype="float16")


# -- the hub ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def stub(httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch) -> StubHub:
    stub = StubHub(httpserver)
    monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", stub.url)  # HF_ENDPOINT is read when it is imported
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_DISABLE_XET", True)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setenv("HF_TOKEN", "hf_only_for_this_test")
    return stub


def test_a_push_is_one_commit_of_the_whole_export(exported: Path, stub: StubHub, capsys: Any) -> None:
    assert main(["export", str(exported), "--push-to-hub", "me/tiny", "--private"]) == 0
    assert "pushed: " in capsys.readouterr().out
    assert stub.created[0]["name"] == "tiny"
    assert stub.created[0]["visibility"] == "private"
    assert set(stub.files) == {p.name for p in exported.iterdir()}
    assert stub.files["README.md"] == (exported / "README.md").read_text()
    assert stub.files["model.safetensors"] == {"size": (exported / "model.safetensors").stat().st_size}
    assert len(stub.cards) >= 1, "the hub was asked whether the card is good"
    assert stub.tokens == {"Bearer hf_only_for_this_test"}
    assert not any("hf_only_for_this_test" in p.read_text(errors="replace") for p in exported.iterdir())


def test_what_cannot_be_pushed_is_one_line_and_the_export_stays(
    run: Path, exported: Path, httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)

    def refused(repo: str) -> str:
        assert main(["export", str(exported), "--push-to-hub", repo]) == 2
        found = capsys.readouterr().err
        assert len(found.strip().splitlines()) == 1, found
        return found

    monkeypatch.setattr("huggingface_hub.get_token", lambda: None)
    assert "no token for the hub" in refused("me/tiny")
    monkeypatch.setattr("huggingface_hub.get_token", lambda: "hf_only_for_this_test")
    assert "has no owner: push to OWNER/NAME" in refused("tiny")
    assert "cannot be a model's name" in refused("me/my model")
    monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", "http://127.0.0.1:9")
    said = refused("me/tiny")
    assert "cannot be reached" in said
    assert f"bot-grpo export {exported} --push-to-hub me/tiny" in said
    monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", httpserver.url_for("").rstrip("/"))
    httpserver.expect_request("/api/repos/create").respond_with_json({"error": "no"}, status=403)
    httpserver.expect_request("/api/models/me/tiny").respond_with_json({"error": "no"}, status=404)
    assert "403: the token may not write there" in refused("me/tiny")
    assert (exported / "model.safetensors").exists()


def test_a_model_that_is_nowhere_is_known_to_be_at_once(
    httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Without a network the library would ask again and again, for a minute; the hub is asked for once."""
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr("transformers.AutoTokenizer.from_pretrained", lambda *a, **k: pytest.fail("it was looked for"))
    reachable.cache_clear()
    for name in ("nope", "nobody/nope"):
        with pytest.raises(UserError, match=f"'{name}' is no folder here, and the hub cannot be reached"):
            models.load_tokenizer(name)
    with pytest.raises(UserError, match=r"cannot be had \(no folder here, and the hub cannot be reached\)"):
        sizes("nobody/nope")
    monkeypatch.setattr("datasets.load_dataset", lambda *args: pytest.fail("it was looked for"))
    with pytest.raises(TaskError, match="nobody/nope: there is no such file, and the hub cannot be reached"):
        read_records("nobody/nope")
    monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", httpserver.url_for("").rstrip("/"))
    reachable.cache_clear()
    assert models.resolve("nobody/nope") == "nobody/nope", "a hub that answers is asked by its library"
    reachable.cache_clear()


def test_train_checks_a_push_before_anything_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    flags = ["train", "--output_dir", str(tmp_path / "run"), "--use_cpu", "true"]
    monkeypatch.setattr("huggingface_hub.get_token", lambda: None)
    cases = {
        ("--push-to-hub",): "--hub-model-id OWNER/NAME",
        ("--push-to-hub", "--hub-model-id", "tiny"): "has no owner",
        ("--push-to-hub", "--hub-model-id", "me/tiny"): "no token for the hub",
        ("--push-to-hub", "--hub-model-id", "me/tiny", "--hub-strategy", "checkpoint"): "hub_strategy",
        ("--hub-token", "hf_only_for_this_test"): "set HF_TOKEN",
    }
    for more, words in cases.items():
        assert main([*flags, *more]) == 2
        assert words in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_train_pushes_what_it_trained(httpserver: HTTPServer, base: Path, tmp_path: Path) -> None:
    """By the command line alone, with HF_ENDPOINT; the stub stands for the hub."""
    stub, out = StubHub(httpserver), tmp_path / "run"
    (tmp_path / "letters.py").write_text(LETTERS)
    flags = """--task aime --prompts arithmetic:1 --answer_form plain --num_generations 2 --max_steps 1 --lora_r 2
        --per_device_train_batch_size 2 --gradient_accumulation_steps 1 --max_completion_length 4 --eval_strategy no
        --save_strategy no --use_cpu true --report_to none --model_dtype float32 --push-to-hub --hub-model-id me/tiny"""
    command = [sys.executable, "-m", "bot_grpo", "train", *flags.split(), "--model", str(base)]
    command += ["--output_dir", str(out), "--rewards", f"{tmp_path / 'letters.py'}:Letters"]
    world = {"HF_ENDPOINT": stub.url, "HF_TOKEN": "hf_only_for_this_test", "HF_HUB_DISABLE_XET": "1"}
    world |= {"HF_HUB_OFFLINE": "0", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=os.environ | world, capture_output=True, text=True, timeout=1100)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    assert f"pushed: {stub.url}/me/tiny" in done.stdout
    assert {"README.md", "config.json", "model.safetensors", "training.yaml"} <= set(stub.files)
    assert 'name = "me/tiny"' in stub.files["README.md"]
    files = [p for p in out.rglob("*") if p.is_file()]
    assert not any(b"hf_only_for_this_test" in p.read_bytes() for p in files), "a token was written"


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("family", list(real_families.FAMILIES))
def test_the_recipes_architectures_merge_into_plain_models(family: str, tmp_path: Path) -> None:
    base = real_families.save(family, tmp_path / "base")
    policy = save_adapter(base, tmp_path / "adapter").float()
    assert main(["export", str(tmp_path / "adapter"), "--output", str(tmp_path / "out"), "--dtype", "float32"]) == 0
    assert {k: shape for k, (shape, _) in weights_of(tmp_path / "out").items()} == {
        k: shape for k, (shape, _) in weights_of(base).items()
    }
    merged = AutoModelForCausalLM.from_pretrained(tmp_path / "out").eval()
    ids = torch.arange(100, 140)[None]
    with torch.no_grad():
        torch.testing.assert_close(merged(ids).logits, policy(ids).logits, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_the_embedded_model_merges_into_a_plain_one(tmp_path: Path) -> None:
    base = models.embedded_path()
    policy = save_adapter(base, tmp_path / "adapter").float()
    assert main(["export", str(tmp_path / "adapter"), "--output", str(tmp_path / "out"), "--dtype", "float32"]) == 0
    found, own = weights_of(tmp_path / "out"), weights_of(base)
    assert {k: shape for k, (shape, _) in found.items()} == {k: shape for k, (shape, _) in own.items()}
    merged = AutoModelForCausalLM.from_pretrained(tmp_path / "out").eval()
    ids = torch.arange(100, 140)[None]
    with torch.no_grad():
        torch.testing.assert_close(merged(ids).logits, policy(ids).logits, rtol=1e-3, atol=1e-3)


@pytest.mark.slow
@pytest.mark.vllm
@pytest.mark.timeout(3000)
def test_vllm_loads_an_export_as_any_model(tmp_path: Path) -> None:
    """In the environment that $BOT_GRPO_VLLM_ENV names; it is built there if need be."""
    place = vllm_env.folder()
    if place is None:
        pytest.skip("BOT_GRPO_VLLM_ENV names no folder for vLLM's environment")
    torch.manual_seed(0)
    heads: dict[str, Any] = {"num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 2}
    ids: dict[str, Any] = {"eos_token_id": tiny_trainer.EOS, "pad_token_id": tiny_trainer.PAD, "bos_token_id": None}
    sizes: dict[str, Any] = {"hidden_size": 256, "intermediate_size": 256, "max_position_embeddings": 256}
    config = LlamaConfig(vocab_size=tiny_trainer.VOCABULARY, tie_word_embeddings=True, **heads, **ids, **sizes)
    LlamaForCausalLM(config).save_pretrained(tmp_path / "base")
    tokenizer = tiny_trainer.byte_tokenizer()
    tokenizer.chat_template = TEMPLATE
    tokenizer.save_pretrained(tmp_path / "base")
    write_run(tmp_path / "run")
    save_adapter(tmp_path / "base", tmp_path / "run" / "model")
    assert main(["export", str(tmp_path / "run")]) == 0
    merged = AutoModelForCausalLM.from_pretrained(tmp_path / "run" / "export", dtype=torch.float32).eval()
    prompt = list(range(60, 80))
    answer: list[int] = []
    with torch.no_grad():
        for _ in range(16):
            answer.append(int(merged(torch.tensor([prompt + answer])).logits[0, -1].argmax()))
    expected = json.dumps({"prompt": prompt, "answer": answer})
    script = Path(__file__).with_name("vllm_export.py")
    command = [str(vllm_env.build(place)), str(script), str(tmp_path / "run" / "export"), expected]
    world = os.environ | {"VLLM_CPU_KVCACHE_SPACE": "1"}
    done = subprocess.run(command, env=world, capture_output=True, text=True, timeout=2000)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    assert "the same 16 tokens" in done.stdout
