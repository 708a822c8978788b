"""What `bot-grpo bench gpu` measures, in which order and time, and its results in words. No torch here: each part runs
in a process of its own (`bench_parts`), which can be killed and leaves the device's memory to the next."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bot_grpo.architecture import config, from_config

TINY: Mapping[str, Any] = {
    "model_type": "qwen2",
    "vocab_size": 512,
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 4096,
    "tie_word_embeddings": True,
}
"""A shape to try the benchmark itself with."""

PARTS = {
    "step-lora": "a training step, LoRA",
    "step-full": "a training step, all weights",
    "sampling": "sampling, and the samplers' log-probabilities beside the trainer's",
    "vllm": "the same of vLLM",
}
_LEAST_SECONDS = 15.0  # a part that has less would only import
_SPARE_SECONDS = 3.0  # to write results

Part = dict[str, Any]


def shape(name: str) -> Mapping[str, Any]:
    """The config's numbers of a shape: "tiny", a published one, or those in a folder. Raises UserError."""
    found = TINY if name == "tiny" else config(name)
    from_config(found, name)  # is an architecture that can be counted
    return found


def work(name: str, part: str) -> dict[str, int]:
    """How much a part does: small for the tiny shape, otherwise what fills a GPU for seconds."""
    if name == "tiny":
        return {"rows": 16, "micro": 8, "tokens": 24, "sampled": 16, "steps": 1}
    rows = 64 if part in {"sampling", "vllm"} else 32
    return {"rows": rows, "micro": 4, "tokens": 1024, "sampled": 256, "steps": 2}


def run(name: str, device: str, seconds: float, parts: Sequence[str]) -> dict[str, Any]:
    """Run the parts one after the other; a part may take its share of what is left of `seconds`.

    Returns what goes into the JSON: `machine`, `shape`, `parameters`, and `parts`, each with its figures and, where
    something went wrong, `failed` or `skipped`, in one line.
    """
    numbers = shape(name)
    results: list[Part] = []
    facts: Mapping[str, Any] = {}
    end = time.monotonic() + seconds - _SPARE_SECONDS
    for place, part in enumerate(parts):
        left = end - time.monotonic()
        share = left / (len(parts) - place)
        began = time.monotonic()
        print(f"part {place + 1} of {len(parts)}: {PARTS[part]} ({share:.0f} s at most)", flush=True)
        if part == "vllm" and find_spec("vllm") is None:
            found: Part = {"skipped": "vLLM is not installed (pip install bot-grpo[vllm])"}
        elif share < _LEAST_SECONDS:
            found = {"skipped": f"no time left; raise --minutes ({seconds / 60:g})"}
        else:
            spec = {"part": part, "shape": numbers, "device": device, "until": time.time() + share, **work(name, part)}
            found = _in_a_process(spec, share)
        facts = found.pop("machine", facts)
        took = time.monotonic() - began
        results.append({"part": part, "title": PARTS[part], **found, "took_seconds": round(took, 1)})
        for why in ("skipped", "failed"):
            if why in found:
                print(f"  {why}: {found[why]}", flush=True)
    parameters = from_config(numbers, name).parameters
    return {"machine": facts, "shape": name, "parameters": parameters, "parts": results}


def _in_a_process(spec: Mapping[str, Any], seconds: float) -> Part:
    """What the part has written, whether or not it came to its end."""
    with tempfile.TemporaryDirectory(prefix="bot-grpo-bench-") as folder:
        given, result = Path(folder, "spec.json"), Path(folder, "result.json")
        given.write_text(json.dumps(spec))
        command = [sys.executable, "-m", "bot_grpo.bench_parts", str(given), str(result)]
        environment = {**os.environ, "TOKENIZERS_PARALLELISM": "false"}
        with subprocess.Popen(command, env=environment, start_new_session=True) as child:
            try:
                code: int | None = child.wait(timeout=seconds)
            except subprocess.TimeoutExpired:
                code = None
            finally:
                _end(child)
        found: Part = json.loads(result.read_text()) if result.exists() else {}
    if code is None:
        found["failed"] = f"ended after its {seconds:.0f} s" + ("; what it had measured is kept" if found else "")
    elif code:
        found.setdefault("failed", f"its process ended with {code}")
    return found


def _end(child: subprocess.Popen[bytes]) -> None:
    """Kill what is left of the part: its own process, and any that it has started (vLLM's engine)."""
    try:
        os.killpg(child.pid, 9)
    except ProcessLookupError:
        return
    child.wait()


# -- in words ---------------------------------------------------------------------------------------------------------


def markdown(found: Mapping[str, Any]) -> str:
    """The results as a section of a README: a line on the machine, a table of steps, a table of samplers, failures."""
    facts = found["machine"]
    memory = f", {facts['memory_gb']:g} GB" if "memory_gb" in facts else ""
    versions = ", ".join(f"{name} {facts[name]}" for name in ("torch", "transformers", "trl", "vllm") if name in facts)
    lines = [
        f"{facts.get('device', 'no device')}{memory}; {versions}. Random weights of the shape {found['shape']} "
        f"({found['parameters']:,} parameters).",
        "",
    ]
    steps = [part for part in found["parts"] if part.get("trainers")]
    samplers = [part for part in found["parts"] if part.get("samplers")]
    if steps:
        lines += _step_table(steps)
    if samplers:
        lines += _sampler_table(samplers)
    bad = [(part["title"], part.get("failed") or part.get("skipped")) for part in found["parts"]]
    lines += [f"* {title}: {why}" for title, why in bad if why]
    return "\n".join(lines).rstrip() + "\n"


def _step_table(parts: Sequence[Part]) -> list[str]:
    first = parts[0]
    rollouts, longest, micro = first["rollouts"], first["longest"], first["micro_batch"]
    lines = [
        f"A step of {rollouts} rollouts of up to {longest} tokens, {micro} a micro-batch, the same for both trainers:",
        "",
        "| trained | trainer | s a step | x TRL | peak GB | x TRL | turns |",
        "|---|---|---|---|---|---|---|",
    ]
    for part in parts:
        trained = part["title"].rpartition(", ")[2]
        base = part["trainers"].get("trl grpo")
        for kind, values in part["trainers"].items():
            cells = [f"{values['seconds']:.3g}", _ratio(values, base, "seconds")]
            cells += [f"{values['peak_mb'] / 1024:.3g}", _ratio(values, base, "peak_mb"), f"{values['turns']}"]
            lines.append(f"| {trained} | {kind} | {' | '.join(cells)} |")
    return [*lines, ""]


def _ratio(values: Mapping[str, float], base: Mapping[str, float] | None, name: str) -> str:
    return f"{values[name] / base[name]:.2f}" if base and base[name] else ""


def _sampler_table(parts: Sequence[Part]) -> list[str]:
    rows, tokens = parts[0]["rows"], parts[0]["tokens"]
    lines = [
        f"{rows} completions of {tokens} tokens at a time; the gap is between the sampler's log-probabilities of its "
        "tokens and the trainer's, in nats:",
        "",
        "| sampler | tokens a second | mean gap | largest | KL |",
        "|---|---|---|---|---|",
    ]
    for part in parts:
        for name, at in part["samplers"].items():
            cells = [f"{at['tokens_per_second']:,.0f}", *(f"{at[key]:.2g}" for key in ("gap", "gap_max", "kl"))]
            lines.append(f"| {name} | {' | '.join(cells)} |")
    return [*lines, ""]
