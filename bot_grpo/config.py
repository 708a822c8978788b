"""Settings of a run: TRL's GRPOConfig plus what this project adds. Parsed by TRL's own parser."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

from trl import GRPOConfig

from bot_grpo.algorithms import Algorithm, get_algorithm
from bot_grpo.errors import UserError


@dataclass
class BoTGRPOConfig(GRPOConfig):
    """Everything that `bot-grpo train` can be told; each field is also a flag, `--field value`.

    TRL's own fields keep their meaning, and `epsilon`, `epsilon_high`, `beta`, `loss_type`, `scale_rewards` and
    `importance_sampling_level` are the business of the algorithm here: set them through `algorithm_settings`.
    """

    _VALID_DICT_FIELDS = [*GRPOConfig._VALID_DICT_FIELDS, "algorithm_settings", "reward_settings"]

    algorithm: str = field(default="bot_grpo", metadata={"help": "Name in `bot-grpo algorithms`."})
    algorithm_settings: dict | str | None = field(
        default=None,
        metadata={"help": "Settings of the algorithm as a mapping (on the command line: JSON)."},
    )
    model: str = field(default="smollm2-135m", metadata={"help": "smollm2-135m (embedded), a folder, or a hub id."})
    model_dtype: str = field(default="bfloat16", metadata={"help": "Dtype of the weights: bfloat16, float32 or auto."})
    attn_implementation: str | None = field(
        default=None, metadata={"help": "As in transformers: eager, sdpa, ...; eager is the fastest on a CPU in bf16."}
    )
    lora_r: int = field(default=16, metadata={"help": "Rank of the LoRA adapter; 0 trains all weights."})
    lora_alpha: int = field(default=32, metadata={"help": "Scale of the LoRA adapter."})
    task: str = field(default="react", metadata={"help": "Name of the task; react is the one there is."})
    tier: str | None = field(default="tiny", metadata={"help": "React: tiny, standard, app, or empty for all."})
    prompts: str | None = field(
        default=None, metadata={"help": "Own prompts instead: a JSONL, CSV or parquet file, or a hub data set."}
    )
    system_prompt: str | None = field(default=None, metadata={"help": "System message before each prompt."})
    reward_settings: dict | str | None = field(
        default=None, metadata={"help": "Coefficients of the reward model as a mapping (on the command line: JSON)."}
    )
    w_g: float = field(default=1.0, metadata={"help": "Weight of the global outcome G in r_t = w_g G + w_s S_t."})
    w_s: float = field(default=1.0, metadata={"help": "Weight of the local reward S_t in r_t = w_g G + w_s S_t."})
    cold_start_steps: int = field(
        default=0, metadata={"help": "Supervised steps on the task's own reference answers before RL."}
    )
    cold_start_batch_size: int = field(default=8, metadata={"help": "Reference answers a supervised step."})
    cold_start_learning_rate: float = field(default=3e-4, metadata={"help": "Learning rate of the supervised steps."})
    eval_prompts: int = field(default=48, metadata={"help": "Held-out prompts an evaluation; 0 for none."})
    sandbox_workers: int = field(default=1, metadata={"help": "Browsers that render at the same time."})
    sandbox_timeout: float = field(default=5.0, metadata={"help": "Seconds that one component may take."})
    fast_sampling: bool = field(
        default=True,
        metadata={"help": "Sample with the adapter folded in and groups sharing their prompt (no vLLM)."},
    )
    resume: str | None = field(
        default=None, metadata={"help": "Go on with the run in output_dir ('auto') or from this checkpoint."}
    )

    def __post_init__(self) -> None:
        for name in ("algorithm_settings", "reward_settings"):
            if getattr(self, name) is None:
                setattr(self, name, {})
        super().__post_init__()
        self._refuse_silent_differences()

    def _refuse_silent_differences(self) -> None:
        """TRL settings which our loss would ignore, or which would change more than they say, are refused."""
        defaults = {f.name: f.default for f in dataclasses.fields(GRPOConfig)}
        ours = {
            "epsilon": "algorithm_settings: {clip_low: ...}",
            "epsilon_high": "algorithm_settings: {clip_high: ...}",
            "delta": "algorithm_settings: {clip_high: ...}",
            "loss_type": "algorithm: ...",
            "scale_rewards": "algorithm: ... (dr_grpo has no std)",
            "importance_sampling_level": "algorithm: gspo or gspo_token",
            "multi_objective_aggregation": "w_g and w_s",
            "top_entropy_quantile": "no algorithm here masks by entropy",
            "off_policy_mask_threshold": "no algorithm here masks off-policy rows",
        }
        for name, instead in ours.items():
            if name in defaults and getattr(self, name) != defaults[name]:
                raise UserError(f"{name} is TRL's, and the loss here does not read it; use {instead}")
        if self.mask_truncated_completions:
            raise UserError(
                "mask_truncated_completions hides truncated tokens from attention but leaves their reward in the "
                "statistics; use algorithm: dapo with its overlong filter"
            )

    def make_algorithm(self) -> Algorithm:
        """The algorithm with its settings; a bad name or setting is a UserError."""
        try:
            return get_algorithm(self.algorithm, **dict(self.algorithm_settings or {}))
        except (TypeError, ValueError) as error:
            raise UserError(str(error)) from error

    def changed(self) -> dict[str, Any]:
        """Our own fields, and those of TRL's that differ from their defaults: what a reader of config.yaml wants."""
        base = {f.name: f.default for f in dataclasses.fields(GRPOConfig)}
        skip = {"logging_dir", "resume", "run_name", "hub_token", "accelerator_config", "deepspeed_plugin"}
        return {
            f.name: _plain(getattr(self, f.name))
            for f in dataclasses.fields(self)
            if f.name not in skip and (f.name not in base or getattr(self, f.name) != base[f.name])
        }


def _plain(value: Any) -> Any:
    """As YAML can hold it."""
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple | set):
        return [_plain(v) for v in value]
    value = getattr(value, "value", value)  # TRL and transformers keep choices as enums
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
