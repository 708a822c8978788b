"""The parts of `bot-grpo bench gpu`, each run in a process of its own: `python -m bot_grpo.bench_parts SPEC RESULT`.

SPEC is a JSON file (see `Spec`). RESULT is written, whole, each time there is more to say, so that a part which is
killed in the middle leaves what it had measured.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from bot_grpo.quiet import quiet

LORA_RANK = 32
ROUNDS = 3
"""Turns of each trainer, where time allows."""
EOS = 256
Write = Callable[[Mapping[str, Any]], None]


@dataclass(frozen=True)
class Spec:
    """What a part is to do. `shape` is a config's numbers (`architecture.config`); `until` a time (`time.time()`)."""

    part: str
    shape: Mapping[str, Any]
    device: str
    until: float
    rows: int  # rollouts of a step, and completions that are sampled at a time
    micro: int
    tokens: int  # of the longest completion of a step
    sampled: int  # of each completion that is sampled
    steps: int


def main(spec_file: str, result_file: str) -> None:
    """Run one part. What goes wrong is in the result, as `failed`, in one line."""
    spec = Spec(**json.loads(Path(spec_file).read_text()))
    target = Path(result_file)
    facts = machine(spec.device)

    def write(found: Mapping[str, Any]) -> None:
        scratch = target.with_suffix(".part")
        scratch.write_text(json.dumps({"machine": facts, **found}))
        scratch.rename(target)

    quiet()
    try:
        PARTS[spec.part](spec, write)
    except (torch.OutOfMemoryError, MemoryError) as error:
        _fail(target, facts, f"out of memory: {_first_line(error)}")
    except Exception as error:  # whatever it is, the other parts go on
        traceback.print_exc()
        _fail(target, facts, f"{type(error).__name__}: {_first_line(error)}")


def _fail(target: Path, facts: Mapping[str, Any], why: str) -> None:
    known = json.loads(target.read_text()) if target.exists() else {"machine": facts}
    target.write_text(json.dumps({**known, "failed": why}))


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]


def machine(device: str) -> dict[str, Any]:
    """The device and the versions that figures are of."""
    found: dict[str, Any] = {"device": "CPU", "threads": torch.get_num_threads()}
    if device != "cpu":
        properties = torch.cuda.get_device_properties(0)
        found = {"device": properties.name, "memory_gb": round(properties.total_memory / 2**30, 1)}
    for package in ("torch", "transformers", "trl", "peft", "vllm"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


# -- random weights ---------------------------------------------------------------------------------------------------


def byte_tokenizer() -> Any:
    """One token a byte, then <eos> (256) and <pad>: any vocabulary of 258 or more has room for it."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    bpe = Tokenizer(models.BPE(vocab={c: i for i, c in enumerate(alphabet)}, merges=[]))
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=bpe, eos_token="<eos>", pad_token="<pad>", padding_side="left")


def random_policy(spec: Spec, dtype: torch.dtype, *, lora: bool) -> Any:
    """A model of the shape with random weights, the same each time; with `lora` an adapter that changes the logits."""
    from peft import LoraConfig, get_peft_model
    from transformers import AutoConfig, AutoModelForCausalLM

    torch.manual_seed(0)
    numbers = {**spec.shape, "bos_token_id": None, "eos_token_id": EOS, "pad_token_id": EOS + 1}
    with torch.device(spec.device):
        model: Any = AutoModelForCausalLM.from_config(AutoConfig.for_model(**numbers), dtype=dtype)
    if not lora:
        return model
    adapter = LoraConfig(r=LORA_RANK, lora_alpha=2 * LORA_RANK, target_modules="all-linear", task_type="CAUSAL_LM")
    model = get_peft_model(model, adapter)
    for name, weight in model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(weight, std=0.01)  # it begins as zero, which would change nothing
    return model


# -- a training step --------------------------------------------------------------------------------------------------


def step(spec: Spec, write: Write) -> None:
    """Both trainers by turns, the other one first in each round, while another turn fits the time."""
    from bot_grpo.step_bench import TRL, Batch, Turn, medians, turn

    lora = spec.part == "step-lora"
    cuda = spec.device != "cpu"
    dtype = torch.bfloat16 if lora and cuda else torch.float32  # as in the recipes
    batch = Batch(spec.rows, spec.micro, spec.tokens, spec.steps, bf16=cuda, checkpointing=cuda)
    kinds = (TRL, "ours bot_grpo")
    turns: dict[str, list[Turn]] = {}
    longest = 0.0
    for number in range(ROUNDS):
        for kind in kinds if number % 2 == 0 else kinds[::-1]:
            start = time.time()
            if number and start + 1.5 * longest > spec.until:
                return
            done = turn(
                kind, lambda: random_policy(spec, dtype, lora=lora), byte_tokenizer(), batch, device=spec.device
            )
            longest = max(longest, time.time() - start)
            turns.setdefault(kind, []).append(done)
            print(
                f"  {kind}: {', '.join(f'{s:.2f}' for s in done.seconds)} s a step, {done.peak_mb:,.0f} MB", flush=True
            )
            figures = {name: {**medians(of), "turns": len(of)} for name, of in turns.items()}
            write({"trainers": figures, "rollouts": spec.rows, "micro_batch": spec.micro, "longest": spec.tokens})


# -- samplers ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sampled:
    """What a sampler drew, log mu of each token, and its speed in tokens a second, measured after a warm-up."""

    prompts: list[list[int]]
    completions: list[list[int]]
    logps: list[list[float]]
    speed: float


def sampling(spec: Spec, write: Write) -> None:
    """Tokens a second of the sampler here and of `generate`; how far their log-probabilities are from training's."""
    _samplers(spec, write, {"group sampler (ours)": _ours, "transformers generate": _generate})


def vllm(spec: Spec, write: Write) -> None:
    """The same of vLLM, from weights on disk. Without the adapter: vLLM is given plain weights here."""
    _samplers(spec, write, {"vLLM": _vllm}, lora=False)


def _samplers(
    spec: Spec, write: Write, samplers: Mapping[str, Callable[[Any, Any, Spec], Sampled]], *, lora: bool = True
) -> None:
    from bot_grpo.step_bench import Batch, build

    cuda = spec.device != "cpu"
    dtype = torch.bfloat16 if cuda else torch.float32
    batch = Batch(spec.rows, spec.micro, spec.sampled, bf16=cuda)
    found: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        tokenizer = byte_tokenizer()
        model = random_policy(spec, dtype, lora=lora)
        trainer = build("ours bot_grpo", model, tokenizer, batch, folder, device=spec.device)
        for name, sample in samplers.items():
            done = sample(model, tokenizer, spec)
            gap = _gap(trainer, done)
            found[name] = {"tokens_per_second": done.speed, **gap}
            print(f"  {name}: {done.speed:,.0f} tokens a second, mean gap {gap['gap']:.1e} nats", flush=True)
            write({"samplers": found, "rows": spec.rows, "tokens": spec.sampled})


def _prompts(spec: Spec, tokenizer: Any) -> list[list[int]]:
    """Of groups of eight: as many prompts as rows, in runs of the same."""
    texts = [f"{'write a page with a list and a button, ' * 4}number {i}:" for i in range(max(1, spec.rows // 8))]
    return [ids for ids in tokenizer(texts)["input_ids"] for _ in range(8)][: spec.rows]


def _ours(model: Any, tokenizer: Any, spec: Spec) -> Sampled:
    from bot_grpo.generation import FoldedPolicy, sample_groups

    prompts, policy = _prompts(spec, tokenizer), FoldedPolicy(model)

    def draw(tokens: int) -> Any:
        return sample_groups(
            policy.refresh(),
            prompts[::8],
            group_size=min(8, spec.rows),
            max_new_tokens=tokens,
            eos_token_ids=[EOS],
            pad_token_id=EOS + 1,
        )

    model.eval()
    draw(4)  # warms up
    seconds, out = _timed(lambda: draw(spec.sampled))
    model.train()
    return Sampled(prompts, out.ids, out.logps, sum(map(len, out.ids)) / seconds)


def _generate(model: Any, tokenizer: Any, spec: Spec) -> Sampled:
    prompts = _prompts(spec, tokenizer)
    padded = tokenizer.pad({"input_ids": prompts}, return_tensors="pt").to(spec.device)
    settings: dict[str, Any] = {"do_sample": True, "top_k": 0, "top_p": 1.0, "pad_token_id": EOS + 1}

    def draw(rows: int, tokens: int, **more: Any) -> Any:
        part = {name: tensor[:rows] for name, tensor in padded.items() if name != "token_type_ids"}
        with torch.no_grad():
            return model.generate(**part, max_new_tokens=tokens, **settings, **more)

    model.eval()
    draw(spec.rows, 4)  # warms up
    width = padded["input_ids"].size(1)
    seconds, out = _timed(lambda: draw(spec.rows, spec.sampled))
    speed = sum(_lengths(out[:, width:])) / seconds
    # All logits of all steps are large: the gap is measured on an eighth of the rows, and a quarter of the tokens.
    few = draw(max(1, spec.rows // 8), max(1, spec.sampled // 4), return_dict_in_generate=True, output_logits=True)
    model.train()
    ids = few.sequences[:, width:]
    pairs = zip(few.logits, ids.T, strict=True)
    logps = torch.stack([at.float().log_softmax(-1).gather(-1, own[:, None])[:, 0] for at, own in pairs], dim=1)
    lengths = _lengths(ids)
    return Sampled(prompts[: len(ids)], _cut(ids, lengths), _cut(logps, lengths), speed)


def _vllm(model: Any, tokenizer: Any, spec: Spec) -> Sampled:
    from vllm import LLM, SamplingParams

    prompts = _prompts(spec, tokenizer)
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        length = max(map(len, prompts)) + spec.sampled
        dtype = "bfloat16" if spec.device != "cpu" else "float32"
        engine = LLM(folder, dtype=dtype, max_model_len=length, gpu_memory_utilization=0.5, seed=0)
        inputs: list[Any] = [{"prompt_token_ids": ids} for ids in prompts]
        engine.generate(inputs, SamplingParams(max_tokens=4), use_tqdm=False)  # warms up
        params = SamplingParams(temperature=1.0, max_tokens=spec.sampled, logprobs=0, detokenize=False)
        seconds, outputs = _timed(lambda: engine.generate(inputs, params, use_tqdm=False))
    ends = [output.outputs[0] for output in outputs]
    logps = [[at[t].logprob for at, t in zip(o.logprobs, o.token_ids, strict=True)] for o in ends]
    completions = [list(o.token_ids) for o in ends]
    return Sampled(prompts, completions, logps, sum(map(len, completions)) / seconds)


def _gap(trainer: Any, done: Sampled) -> dict[str, float]:
    """The figures of `SamplerGap` of what a sampler drew, against the trainer's own forward pass."""
    from bot_grpo.sampler_gap import SamplerGap

    device = trainer.accelerator.device
    longest = max(map(len, done.completions))
    ids = _right(done.completions, longest, EOS + 1, torch.long).to(device)
    mask = _right([[1] * len(c) for c in done.completions], longest, 0, torch.long).to(device)
    sampled = _right(done.logps, longest, 0.0, torch.float32).to(device)
    wide = max(map(len, done.prompts))
    padded = torch.tensor([[EOS + 1] * (wide - len(p)) + p for p in done.prompts], device=device)
    given = torch.tensor([[0] * (wide - len(p)) + [1] * len(p) for p in done.prompts], device=device)
    inputs = {"prompt_ids": padded, "prompt_mask": given, "completion_ids": ids, "completion_mask": mask}
    gap = SamplerGap()
    with torch.no_grad():
        logps, _ = trainer._logps(trainer.model, inputs, entropies=False)
    gap.add(sampled, logps, mask)
    return {name.removeprefix("sampler/"): value for name, value in gap.take(trainer.accelerator).items()}


def _right(rows: list[Any], width: int, fill: float, dtype: torch.dtype) -> Tensor:
    return torch.tensor([[*row, *[fill] * (width - len(row))] for row in rows], dtype=dtype)


def _lengths(ids_BT: Tensor) -> list[int]:
    """Tokens of each row up to its EOS."""
    return [row.index(EOS) + 1 if EOS in row else len(row) for row in ids_BT.tolist()]


def _cut(rows_BT: Tensor, lengths: list[int]) -> list[Any]:
    return [row[:length] for row, length in zip(rows_BT.tolist(), lengths, strict=True)]


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    start = time.perf_counter()
    out = work()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter() - start, out


PARTS: dict[str, Callable[[Spec, Write], None]] = {
    "step-lora": step,
    "step-full": step,
    "sampling": sampling,
    "vllm": vllm,
}

if __name__ == "__main__":
    os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
    main(sys.argv[1], sys.argv[2])
