"""Run in vLLM's environment: a tiny policy is trained on rollouts that vLLM samples.

`colocate lora|full`: vLLM in this process. After the steps it is asked once more, with the weights of a step before and
then with the new ones: the log-probabilities that it reports have to tell the two apart.

`server URL`: vLLM behind HTTP, started as TRL wants it. Its weights travel over NCCL alone, so on a CPU they stay what
they were; that is what a server looks like whose updates fail, and the alarm has to find it.

Prints a JSON object: the metrics of each step, and what else was seen.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

STEPS = 7
SETTINGS: dict[str, Any] = {
    "use_vllm": True,
    "vllm_gpu_memory_utilization": 0.1,
    "vllm_max_model_length": 64,
    "max_steps": STEPS,
    "temperature": 0.8,
    "max_completion_length": 16,
    "per_device_train_batch_size": 16,
}


def save_policy(folder: Path) -> None:
    """A random Qwen2 in bfloat16 with a byte tokenizer, of a shape that vLLM has kernels for."""
    import tiny_trainer as tiny
    import torch
    from transformers import Qwen2Config, Qwen2ForCausalLM

    torch.manual_seed(0)
    sizes: dict[str, Any] = {"hidden_size": 256, "intermediate_size": 256, "num_hidden_layers": 2}
    heads: dict[str, Any] = {"num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 256}
    ends = {"eos_token_id": tiny.EOS, "pad_token_id": tiny.PAD, "bos_token_id": None}
    config = Qwen2Config(
        vocab_size=tiny.VOCABULARY, tie_word_embeddings=True, initializer_range=0.06, **sizes, **heads, **ends
    )
    Qwen2ForCausalLM(config).to(torch.bfloat16).save_pretrained(folder)
    tiny.byte_tokenizer().save_pretrained(folder)


def make(folder: Path, weights: str, **changes: Any) -> Any:
    import tiny_trainer as tiny
    import torch
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(folder / "policy", dtype=torch.bfloat16)
    rate = {"lora": 3.0, "full": 1.0}[weights]
    if weights == "lora":
        model = tiny.with_lora(model)
    return tiny.trainer(folder / "out", model=model, rollouts=None, learning_rate=rate, **SETTINGS, **changes)


def gap(made: Any) -> float:
    """Mean |log pi - log mu| of tokens that vLLM samples now, with the weights that it has."""
    import torch

    from bot_grpo.logprobs import completion_logps
    from bot_grpo.sampler_gap import SamplerGap

    prompt_ids, _, _ = made._tokenize_prompts(["write a 1:"] * 16)
    ids, logps = made._generate_single_turn(prompt_ids, None, {}, num_generations=16)
    found = SamplerGap()
    for prompt, completion, sampled in zip(prompt_ids, ids, logps, strict=True):
        both, mask = torch.tensor([[*prompt, *completion]]), torch.ones(1, len(completion))
        with torch.no_grad():
            trained, _ = completion_logps(made.model, both, torch.ones_like(both), mask.bool(), temperature=0.8)
        found.add(torch.tensor([sampled]), trained, mask)
    return found.take(made.accelerator)["sampler/gap"]


def colocate(folder: Path, weights: str) -> dict[str, Any]:
    import tiny_trainer as tiny

    made = make(folder, weights)
    before = tiny.weights(made.model)
    made.train()
    after = tiny.weights(made.model)
    frozen = [name for name in before if ".base_layer." in name]
    moved = sum((after[name] != before[name]).sum().item() for name in frozen)
    # The last update came after the last sync; now vLLM is told that it has it, then it is given it.
    made._last_loaded_step = made.state.global_step
    stale = gap(made)
    made._last_loaded_step = -1
    return {
        "rows": tiny.logged(made),
        "stale": stale,
        "fresh": gap(made),
        "stops": made.vllm_generation.generation_kwargs["stop_token_ids"],
        "eos": list(made.eos_token_ids),
        "moved": moved / max(1, sum(before[name].numel() for name in frozen)),
    }


def server(folder: Path, url: str) -> dict[str, Any]:
    import tiny_trainer as tiny
    from trl.generation.vllm_client import VLLMClient

    from bot_grpo.errors import UserError

    where = {"vllm_mode": "server", "vllm_server_base_url": url, "vllm_server_timeout": 300.0}
    try:
        make(folder, "lora", **where)
    except UserError as error:
        refused = str(error)
    asked: list[dict[str, Any]] = []
    post = VLLMClient._post

    def kept(self: Any, url: str, **kwargs: Any) -> Any:
        if url.endswith("/v1/completions"):
            asked.append(kwargs["json"])
        return post(self, url, **kwargs)

    # STUBS for what needs NCCL: no weights are sent. All else is the real client and the real server.
    VLLMClient.init_communicator = lambda self, device=0: None
    VLLMClient.update_named_params = lambda self, metadata, named_params: [None for _ in named_params] and None
    VLLMClient._post = kept
    made = make(folder, "lora", top_p=0.9, top_k=200, min_p=0.01, **where)
    made.train()
    first = {k: v for k, v in asked[0].items() if k != "prompt"}
    return {"rows": tiny.logged(made), "refused": refused, "asked": first, "prompts": len(asked[0]["prompt"])}


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    place, mode, what = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    if mode == "policy":
        save_policy(place / "policy")
    else:
        print(json.dumps({"colocate": colocate, "server": server}[mode](place, what)))
