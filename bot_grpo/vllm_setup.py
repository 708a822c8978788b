"""Training that samples with vLLM: whether it can begin, what its failures mean, and what TRL leaves to be set."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from bot_grpo.errors import UserError

_INSTEAD = "or sample with transformers: --use_vllm false"


def check(args: Any) -> None:
    """Raises UserError where `use_vllm` is set and can't work here, before a model is loaded in vain."""
    if not args.use_vllm:
        return
    if find_spec("vllm") is None:
        raise UserError(f"use_vllm: vLLM is not installed here: pip install 'bot-grpo[vllm]', {_INSTEAD}")
    if args.use_cpu and args.vllm_mode == "colocate" and not args.lora_r:
        raise UserError(f"use_vllm: on a CPU vLLM does not take all new weights; train an adapter (lora_r), {_INSTEAD}")


def serve_command(model: str, *flags: str) -> str:
    """The command that serves a policy to train: it takes new weights over NCCL, and its log-probabilities are those
    of what it samples from (temperature and the like included), as TRL's client needs them."""
    needed = """--weight-transfer-config '{"backend": "nccl"}' --logprobs-mode processed_logprobs --max-logprobs -1"""
    return " ".join(["VLLM_SERVER_DEV_MODE=1 vllm serve", model, *flags, needed])


@contextmanager
def explained(args: Any) -> Iterator[None]:
    """Around the making of a trainer: what is wrong with vLLM's server becomes a UserError."""
    try:
        yield
    except (OSError, RuntimeError) as error:  # NotImplementedError is a RuntimeError
        if not (args.use_vllm and args.vllm_mode == "server"):
            raise
        where = args.vllm_server_base_url or f"http://{args.vllm_server_host}:{args.vllm_server_port}"
        start = serve_command(args.model)
        text = str(error)
        if "reached" in text:
            why = f"no vLLM server answers at {where} after {args.vllm_server_timeout:g} seconds; start it: {start}"
        elif "needs a CUDA device" in text:
            why = f"its weights travel over NCCL, which needs a CUDA device here; use vllm_mode: colocate, {_INSTEAD}"
        elif "development endpoints" in text or "no weight-transfer engine" in text:
            why = f"the server at {where} takes no weights; start it in this way: {start}"
        else:
            raise
        raise UserError(f"vllm_mode server: {why}") from error


def settle(generation: Any, eos_token_ids: Sequence[int]) -> None:
    """Have TRL's `VLLMGeneration` end completions where transformers would, and take new weights on a CPU too.

    vLLM reads the generation config on disk, and what ends a completion may be set elsewhere.
    """
    generation.generation_kwargs.setdefault("stop_token_ids", sorted(eos_token_ids))
    if generation.mode == "colocate" and generation.accelerator.device.type == "cpu":
        generation.sync_weights = lambda: _reload(generation)


def _reload(generation: Any) -> None:
    """vLLM's own reloading. On a CPU it packs weights when they are loaded, and TRL writes into what it left behind."""
    # Copies: vLLM keeps some until the end, and by then a LoRA adapter is no longer merged into what they were.
    weights = ((name, weight.clone()) for name, weight in generation._iter_named_params())
    generation.llm.collective_rpc("reload_weights", kwargs={"weights_iterator": weights})
    generation.llm.reset_prefix_cache()
