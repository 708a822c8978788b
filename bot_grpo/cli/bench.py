"""`bot-grpo bench gpu`: what a training step, its memory and sampling take on this machine's GPU."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from bot_grpo.cli.parser import Parser, number
from bot_grpo.errors import UserError

_EPILOG = """\
Nothing is downloaded: weights are random, in the shape of a published model. The parts step-lora and step-full compare
a step of this trainer with one of TRL's on the same rollouts (time, peak memory); sampling and vllm give tokens a
second, and how far the samplers' log-probabilities are from the trainer's. A part that fails is named.
Written to OUTPUT: bench-gpu.json, bench-gpu.md (tables for a README).
Exit code: 0 every part that could run did, 1 a part failed, 2 bad input or no GPU.

examples:
  bot-grpo bench gpu
  bot-grpo bench gpu --minutes 5 --parts step-lora,sampling
  bot-grpo bench gpu --model-shape HuggingFaceTB/SmolLM3-3B --output bench
  bot-grpo bench gpu --model-shape tiny --device cpu       # tries the benchmark itself, without a GPU
"""


def main(argv: list[str]) -> int:
    """Measure, print the tables, write both files."""
    from bot_grpo import bench_gpu
    from bot_grpo.pages import check_folder

    parser = _parser(list(bench_gpu.PARTS))
    options = parser.parse_args(argv)
    if options.what is None:
        parser.error("say what to measure. bench gpu: a training step, its memory and sampling on a GPU")
    check_folder(options.output)
    bench_gpu.shape(options.model_shape)  # what is wrong with it is said before seconds of imports
    device = options.device or ("cpu" if options.model_shape == "tiny" else "cuda")
    if device == "cuda":
        import torch

        if not torch.cuda.is_available():
            raise UserError(
                "no GPU is at hand; `--model-shape tiny --device cpu` tries the benchmark itself on the CPU"
            )
    options.output.mkdir(parents=True, exist_ok=True)
    found = bench_gpu.run(options.model_shape, device, 60 * options.minutes, options.parts)
    text = bench_gpu.markdown(found)
    (options.output / "bench-gpu.json").write_text(json.dumps(found, indent=2) + "\n")
    (options.output / "bench-gpu.md").write_text(text)
    print(f"\n{text}\nwritten: {options.output}/bench-gpu.json, {options.output}/bench-gpu.md")
    return 1 if any("failed" in part for part in found["parts"]) else 0


def _parser(parts: list[str]) -> Parser:
    parser = Parser(
        prog="bot-grpo bench",
        description="Measure a training step, its memory and sampling on this machine's GPU.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )

    def chosen(text: str) -> list[str]:
        names = [name.strip() for name in text.split(",") if name.strip()]
        strange = [name for name in names if name not in parts]
        if strange or not names:
            raise argparse.ArgumentTypeError(f"no part {', '.join(strange) or text!r}; there are: {', '.join(parts)}")
        return names

    add = parser.add_argument
    add("what", nargs="?", choices=["gpu"], help="what is measured")
    add("--model-shape", metavar="NAME", default="Qwen/Qwen2.5-3B",
        help="a published model, a folder with a config.json, or tiny (default: Qwen/Qwen2.5-3B)")  # fmt: skip
    add("--device", choices=["cuda", "cpu"], help="default: cuda; for the tiny shape cpu")
    add("--minutes", metavar="M", type=number(above=0), default=8.0, help="all of it takes no longer (default: 8)")
    add("--parts", metavar="A,B", type=chosen, default=parts, help=f"of {', '.join(parts)} (default: all)")
    add("--output", metavar="DIR", type=Path, default=Path("bench-gpu"), help="default: bench-gpu")
    return parser
