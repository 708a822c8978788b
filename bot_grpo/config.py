"""Settings of a run: TRL's GRPOConfig plus what this project adds. Parsed by TRL's own parser."""

from __future__ import annotations

import dataclasses
import math
import os
from dataclasses import dataclass, field
from typing import Any, get_args

import torch
from trl import GRPOConfig

from bot_grpo import bf16
from bot_grpo.algorithms import Algorithm, get_algorithm
from bot_grpo.errors import UserError
from bot_grpo.reward_sources import read_sources
from sandbox.pool import is_workers
from tasks.aime_format import Form

_TRL_DEFAULTS = {f.name: f.default for f in dataclasses.fields(GRPOConfig)}
_ALGORITHMS_BUSINESS = {
    "beta": "algorithm_settings: {beta: ...}",
    "epsilon": "algorithm_settings: {clip_low: ...}",
    "epsilon_high": "algorithm_settings: {clip_high: ...}",
    "delta": "algorithm_settings: {clip_high: ...}",
    "loss_type": "algorithm: ...",
    "scale_rewards": "algorithm_settings: {std: ...} (dr_grpo has no std)",
    "importance_sampling_level": "algorithm: gspo or gspo_token",
    "multi_objective_aggregation": "w_g and w_s",
    "reward_weights": "w_g and w_s",
    "top_entropy_quantile": "ep_grpo (no algorithm here masks by entropy)",
    "off_policy_mask_threshold": "the clip (no algorithm here masks off-policy rows)",
    "entropy_coef": "algorithm: ep_grpo (no algorithm here has an entropy bonus)",
    "use_adaptive_entropy": "algorithm: ep_grpo (no algorithm here has an entropy bonus)",
} | {
    f"{name}_{k}": "algorithm: ..." for name in ("sapo_temperature", "vespo_k", "vespo_lambda") for k in ("pos", "neg")
}
_SAMPLERS_BUSINESS = (
    "top_p",
    "top_k",
    "min_p",
    "repetition_penalty",
    "generation_kwargs",
    "cache_implementation",
    "use_transformers_continuous_batching",
)


_IMPORTANCE_MODES = ("token_truncate", "token_mask", "sequence_truncate", "sequence_mask")
_DTYPES = ("auto", "bfloat16", "float16", "float32")


@dataclass
class BoTGRPOConfig(GRPOConfig):
    """Everything that `bot-grpo train` can be told; each field is also a flag, `--field value`.

    TRL's own fields keep their meaning, but for those of its loss and its advantages (`epsilon`, `beta`, `loss_type`,
    `scale_rewards`, ...): here they are the business of the algorithm, and setting one is an error that says what to
    set in its place.
    """

    _VALID_DICT_FIELDS = [*GRPOConfig._VALID_DICT_FIELDS, "algorithm_settings", "reward_settings"]  # noqa: RUF012

    algorithm: str = field(default="bot_grpo", metadata={"help": "Name in `bot-grpo algorithms`."})
    algorithm_settings: dict | str | None = field(
        default=None,
        metadata={"help": "Settings of the algorithm as a mapping (on the command line: JSON)."},
    )
    model: str = field(default="smollm2-135m", metadata={"help": "smollm2-135m (embedded), a folder, or a hub id."})
    model_dtype: str = field(
        default="bfloat16",
        metadata={
            "help": "Dtype of the weights: bfloat16, float32, auto (as they are), or fast, which is bfloat16 with bf16 "
            "arithmetic where this machine has it in hardware, and float32 elsewhere."
        },
    )
    attn_implementation: str | None = field(
        default=None, metadata={"help": "As in transformers: eager, sdpa, ...; eager is the fastest on a CPU in bf16."}
    )
    lora_r: int = field(default=16, metadata={"help": "Rank of the LoRA adapter; 0 trains all weights."})
    lora_alpha: int = field(default=32, metadata={"help": "Scale of the LoRA adapter."})
    task: str = field(default="react", metadata={"help": "What is learned: react or aime."})
    tier: str | None = field(default="tiny", metadata={"help": "React: tiny, parts, standard, app, or empty for all."})
    prompts: str | None = field(
        default=None,
        metadata={
            "help": "Own prompts instead: a JSONL, CSV or parquet file, or a hub data set; for AIME also a set's short "
            "name, or arithmetic:LEVEL, problems that are made up (1 to 4)."
        },
    )
    columns: dict | str | None = field(
        default=None,
        metadata={
            "help": "What the columns of `prompts` are called, where not by their usual names: "
            "prompt=ask,requirements=checks (in a config a mapping)."
        },
    )
    eval_source: str | None = field(
        default=None, metadata={"help": "Held-out prompts from another file or data set than `prompts`."}
    )
    answer_form: str = field(
        default="steps", metadata={"help": "AIME: how to answer: steps (tags), boxed, or plain (the problem alone)."}
    )
    system_prompt: str | None = field(default=None, metadata={"help": "System message before each prompt."})
    stop_tokens: list[str] | None = field(
        default=None,
        metadata={"help": "Tokens that end a completion besides the model's own, by their text: <|end|>."},
    )
    reward_settings: dict | str | None = field(
        default=None, metadata={"help": "Coefficients of the reward model as a mapping (on the command line: JSON)."}
    )
    rewards: list | str | None = field(
        default=None,
        metadata={
            "help": "Reward models instead of the task's own: a name, or a list of "
            "{model: NAME, args: {...}, w_g: 1, w_s: 1, role: outcome|local|both, timeout_s: S} (on the command line: "
            "JSON). `compiler` is the React task's own."
        },
    )
    max_unscored: float = field(
        default=0.5,
        metadata={"help": "Stop, with a checkpoint, when more than this share has no score in three steps in a row."},
    )
    w_g: float = field(default=1.0, metadata={"help": "Weight of the global outcome G in r_t = w_g G + w_s S_t."})
    w_s: float = field(default=1.0, metadata={"help": "Weight of the local reward S_t in r_t = w_g G + w_s S_t."})
    dynamic_sampling: int | None = field(
        default=None,
        metadata={
            "help": "How often a step may sample groups anew, from other prompts, whose outcomes are all equal. "
            "Unset: 3 for dapo, else 0."
        },
    )
    overlong_filter: bool = field(
        default=False,
        metadata={"help": "Do not train on completions cut off at max_completion_length; they stay in the statistics."},
    )
    overlong_cache: int = field(
        default=0,
        metadata={"help": "Tokens before max_completion_length over which a penalty on G grows from 0 to -1; 0: none."},
    )
    cold_start_steps: int = field(
        default=0, metadata={"help": "Supervised steps on the task's own reference answers before RL."}
    )
    cold_start_batch_size: int = field(default=8, metadata={"help": "Reference answers a supervised step."})
    cold_start_direct: float = field(
        default=0.0,
        metadata={
            "help": "AIME: share of the cold start's reference answers that give the answer alone, with no steps, so "
            "that it is for the training to find out that steps pay."
        },
    )
    cold_start_learning_rate: float = field(default=3e-4, metadata={"help": "Learning rate of the supervised steps."})
    cold_starts: str | None = field(
        default=None,
        metadata={
            "help": "Folder that keeps cold starts for other runs: one of the same weights, answers and settings that "
            "is there is taken, and not done again."
        },
    )
    eval_prompts: int = field(default=48, metadata={"help": "Held-out prompts an evaluation; 0 for none."})
    sandbox_workers: str = field(
        default="1",
        metadata={"help": "Browsers that render at the same time: a number, or ray or ray://host:port for a cluster."},
    )
    sandbox_timeout: float = field(default=5.0, metadata={"help": "Seconds that one component may take."})
    fast_sampling: bool = field(
        default=True,
        metadata={"help": "Sample with the adapter folded in and groups sharing their prompt (no vLLM)."},
    )
    sampler_gap_alarm: float = field(
        default=0.1,
        metadata={
            "help": "Alarm where the sampler's log-probabilities are on average this far (nats a token) from the "
            "trainer's. Two bfloat16 engines differ by a tenth of it; another template or old weights by more."
        },
    )
    stop_on_alarm: bool = field(
        default=False,
        metadata={"help": "End the run, with a checkpoint, at the first alarm (bot_grpo/README.md lists them)."},
    )
    resume: str | None = field(
        default=None, metadata={"help": "Go on with the run in output_dir ('auto') or from this checkpoint."}
    )

    def __post_init__(self) -> None:
        for name in ("algorithm_settings", "reward_settings"):
            if getattr(self, name) is None:
                setattr(self, name, {})
        self.columns = _columns(self.columns)
        self.rewards = [dataclasses.asdict(source) for source in read_sources(self.rewards)]
        self.sandbox_workers = str(self.sandbox_workers)  # a number in YAML
        if not torch.accelerator.is_available():
            self.use_cpu = True  # or transformers asks for it in words about bf16
        if not self.eval_prompts:  # or the Trainer asks for what is not there
            self.eval_strategy, self.eval_on_start = "no", False
        os.environ.pop("ACCELERATE_MIXED_PRECISION", None)  # of `accelerate launch`; bf16 and fp16 have the last word
        self._without_bf16 = False
        if self.model_dtype == "fast":
            fast = bf16.in_hardware(cpu=self.use_cpu)
            self._without_bf16 = not fast
            self.model_dtype = "bfloat16" if fast else "float32"
            self.bf16 = fast if self.bf16 is None else self.bf16
        super().__post_init__()
        if self.dynamic_sampling is None:
            self.dynamic_sampling = 3 if self.algorithm == "dapo" else 0
        self._refuse_silent_differences()
        self._check_ranges()

    def _refuse_silent_differences(self) -> None:
        """TRL settings which our loss or our sampler would ignore, or which do more than they say, are refused."""
        for name, instead in _ALGORITHMS_BUSINESS.items():
            if self._differs(name):
                raise UserError(f"{name} is TRL's, and the loss here does not read it; use {instead}")
        if self.mask_truncated_completions:
            raise UserError(
                "mask_truncated_completions hides truncated tokens from attention but leaves their reward in the "
                "statistics; use overlong_filter: true"
            )
        if self.fast_sampling and not self.use_vllm:
            for name in _SAMPLERS_BUSINESS:
                if self._differs(name):
                    raise UserError(f"fast_sampling does not read {name}; set fast_sampling: false to sample with TRL")
        if self.router_aux_loss_coef:
            raise UserError("router_aux_loss_coef: the loss here has no term for it; leave it out, or set it to 0.0")
        lockstep = self.use_vllm and (self.vllm_mode == "server" or self.vllm_tensor_parallel_size > 1)
        if self.dynamic_sampling and lockstep and self.world_size > 1:
            raise UserError(
                "dynamic_sampling refills different numbers of rollouts on each process, which vLLM's server mode and "
                "tensor parallelism cannot do; set dynamic_sampling: 0, or vllm_mode: colocate without the latter"
            )

    def _check_ranges(self) -> None:
        for setting in dataclasses.fields(self):
            value = getattr(self, setting.name)
            if isinstance(value, float) and not math.isfinite(value):
                raise UserError(f"{setting.name} must be a finite number; it is {value}")
        checks = {
            "learning_rate": (self.learning_rate >= 0, "0 or more"),
            "cold_start_learning_rate": (self.cold_start_learning_rate > 0, "above 0"),
            "max_steps": (self.max_steps == -1 or self.max_steps > 0, "1 or more, or -1 for num_train_epochs"),
            "num_train_epochs": (self.num_train_epochs > 0, "above 0"),
            "max_completion_length": ((self.max_completion_length or 0) > 0, "1 or more"),
            "seed": (0 <= self.seed < 2**32, "from 0 to 4294967295"),
            "vllm_gpu_memory_utilization": (
                0 < self.vllm_gpu_memory_utilization <= 1,
                "a share, above 0 and at most 1",
            ),
            "temperature": (self.temperature > 0, "above 0: log-probabilities are of softmax(logits / temperature)"),
            "dynamic_sampling": ((self.dynamic_sampling or 0) >= 0, "0 or more"),
            "overlong_cache": (
                0 <= self.overlong_cache <= (self.max_completion_length or 0),
                f"between 0 and max_completion_length ({self.max_completion_length})",
            ),
            "sandbox_workers": (is_workers(self.sandbox_workers), "1 or more, ray, or ray://host:port"),
            "sandbox_timeout": (self.sandbox_timeout > 0, "a number of seconds above 0"),
            "eval_prompts": (self.eval_prompts >= 0, "0 or more"),
            "cold_start_steps": (self.cold_start_steps >= 0, "0 or more"),
            "cold_start_batch_size": (self.cold_start_batch_size >= 1, "1 or more"),
            "lora_r": (self.lora_r >= 0, "0 (all weights) or more"),
            "answer_form": (self.answer_form in get_args(Form), "one of " + ", ".join(get_args(Form))),
            "cold_start_direct": (0 <= self.cold_start_direct <= 1, "a share, from 0 to 1"),
            "model_dtype": (self.model_dtype in _DTYPES, "one of fast, " + ", ".join(_DTYPES)),
            "sampler_gap_alarm": (self.sampler_gap_alarm > 0, "a number of nats above 0"),
            "vllm_importance_sampling_mode": (
                self.vllm_importance_sampling_mode in _IMPORTANCE_MODES,
                "one of " + ", ".join(_IMPORTANCE_MODES),
            ),
            "max_unscored": (0 <= self.max_unscored <= 1, "a share, between 0 and 1"),
            "w_g": (self.w_g >= 0, "a number, 0 or more"),
            "w_s": (self.w_s >= 0, "a number, 0 or more"),
        }
        for name, (good, want) in checks.items():
            if not good:
                raise UserError(f"{name} must be {want}; it is {getattr(self, name)}")
        if self.cold_start_direct and not (self.cold_start_steps and self.task == "aime"):
            why = f"is of task aime, not {self.task}" if self.cold_start_steps else "does nothing without a cold start"
            raise UserError(f"cold_start_direct {why}: leave it out, or set cold_start_direct: 0")

    def _differs(self, name: str) -> bool:
        return name in _TRL_DEFAULTS and getattr(self, name) != _TRL_DEFAULTS[name]

    def make_algorithm(self) -> Algorithm:
        """The algorithm with its settings; a bad name or setting is a UserError.

        A length that the algorithm would take from the batch's width, where it isn't set, is max_completion_length.
        """
        try:
            settings: dict[str, Any] = dict(self.algorithm_settings or {})  # type: ignore[arg-type]  # parsed by now
            algorithm = get_algorithm(self.algorithm, **settings)
            for name in {"constant", "baseline_length"} & set(algorithm.settings):
                if algorithm.settings[name] is None:
                    settings[name] = self.max_completion_length
            return get_algorithm(self.algorithm, **settings)
        except (TypeError, ValueError) as error:
            raise UserError(str(error)) from error

    def notes(self) -> list[str]:
        """What a person may not expect of these settings; one line each."""
        notes = []
        if self._without_bf16:
            notes.append(
                "this machine has no bfloat16 arithmetic, so model_dtype fast is float32: expect longer steps than "
                "README.md has"
            )
        updates = self.num_iterations * (self.steps_per_generation or 1) / self.gradient_accumulation_steps
        if updates <= 1 and self.algorithm in {"gspo", "gspo_token", "reco"}:
            notes.append(
                f"{self.algorithm} differs from its likes by its ratio, which is 1 with one update a batch; set "
                "num_iterations above 1, or steps_per_generation above gradient_accumulation_steps"
            )
        if self.use_vllm and (self.top_p < 1 or self.top_k > 0 or self.min_p or self.repetition_penalty != 1):
            notes.append(
                "vLLM samples from less than the policy (top_p, top_k, min_p or repetition_penalty): sampler/gap shows "
                "it, and vllm_importance_sampling_correction weighs what it can"
            )
        return notes

    def changed(self) -> dict[str, Any]:
        """Our own fields, and those of TRL's that differ from their defaults: what a reader of config.yaml wants."""
        base = _TRL_DEFAULTS
        skip = {"generation_batch_size", "resume", "run_name", "hub_token", "accelerator_config", "deepspeed_plugin"}
        return {
            f.name: _plain(getattr(self, f.name))
            for f in dataclasses.fields(self)
            if f.name not in skip and (f.name not in base or getattr(self, f.name) != base[f.name])
        }


def _columns(value: dict | str | None) -> dict[str, str] | None:
    """`a=b,c=d`, or a mapping, as a mapping."""
    if not value or isinstance(value, dict):
        return value or None
    pairs = [part.strip().partition("=") for part in value.split(",")]
    if not all(role.strip() and equals and name.strip() for role, equals, name in pairs):
        raise UserError(f"columns is {value!r}; write it as prompt=NAME,requirements=NAME")
    return {role.strip(): name.strip() for role, _, name in pairs}


def _plain(value: Any) -> Any:
    """As YAML can hold it."""
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple | set):
        return [_plain(v) for v in value]
    value = getattr(value, "value", value)  # TRL and transformers keep choices as enums
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
