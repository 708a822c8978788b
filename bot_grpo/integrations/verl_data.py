"""From a recipe to verl: the data set as parquet files, and the recipe's settings as overrides of verl's config.

    python -m bot_grpo.integrations.verl_data OUT --config aime-qwen2.5-3b-8gpu [--SETTING VALUE ...]

writes OUT/train.parquet, OUT/test.parquet and OUT/overrides.txt, an override a line. What is of the hardware (batches
of a GPU, parallelism, offloading, the sampler) is verl's own business and isn't in there.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from bot_grpo.disk import ONE_LINE, full_disk_explained
from bot_grpo.errors import UserError
from bot_grpo.integrations.verl_batch import IN_VERL, LAYOUTS, algorithm_for, mode_of, verl_name
from bot_grpo.pages import check_folder
from bot_grpo.reward_sources import SourceSpec, read_sources

_USAGE = """\
usage: python -m bot_grpo.integrations.verl_data OUT [--config RECIPE_OR_FILE] [--SETTING VALUE ...]

Write OUT/train.parquet, OUT/test.parquet (the task's rows as verl reads them) and OUT/overrides.txt (the settings as
overrides of verl's config, one a line). Recipes and settings are those of `bot-grpo train --help`.

example: python -m bot_grpo.integrations.verl_data data/aime --config aime-qwen2.5-3b-8gpu"""
_UNBOUND = 1e9  # for "no bound" above, which verl has no word for


def verl_rows(task: str, rows: Iterable[tuple[Sequence[Mapping[str, str]], Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """Rows of verl's data set from (messages, row): what the reward model reads of a row travels as JSON."""
    return [
        {
            "prompt": [dict(message) for message in messages],
            "data_source": task,
            "reward_model": {"style": "rule", "ground_truth": ""},
            "extra_info": {"index": index, "row": json.dumps(row)},
        }
        for index, (messages, row) in enumerate(rows)
    ]


def overrides(args: Any, own: str) -> list[str]:
    """A run's settings as overrides of verl's config; `own` is the task's reward model. Raises UserError."""
    if args.algorithm not in LAYOUTS:
        raise UserError(f"{args.algorithm} can't be brought into verl; these can: {', '.join(LAYOUTS)}")
    given = args.make_algorithm().settings
    defaults = args.make_algorithm().defaults
    ours = {k: v for k, v in given.items() if k not in IN_VERL and v != defaults[k]}
    try:
        algorithm_for(args.algorithm, ours)
    except ValueError as error:
        raise UserError(str(error)) from error
    name, mode = verl_name(args.algorithm), mode_of(args.algorithm)
    if mode == "seq-mean-token-mean" and given.get("aggregation") == "token":
        raise UserError("aggregation=token is not in verl's bot_grpo loss: use loss_mode=vanilla there")
    specs = read_sources(args.rewards) or (SourceSpec(own),)
    settings = args.reward_settings if isinstance(args.reward_settings, dict) else {}
    specs = tuple(replace(s, args=s.args or settings) if s.model == own else s for s in specs)
    actor, rollout = "actor_rollout_ref.actor", "actor_rollout_ref.rollout"
    prompts = (args.generation_batch_size or 0) // (args.num_generations or 1)
    values: dict[str, Any] = {
        "algorithm.adv_estimator": name,
        **{f"+algorithm.bot_grpo.{key}": value for key, value in ours.items()},
        f"{actor}.policy_loss.loss_mode": name,
        f"{actor}.loss_agg_mode": mode,
        f"{actor}.clip_ratio_low": 1.0 if given["clip_low"] is None else given["clip_low"],
        f"{actor}.clip_ratio_high": _UNBOUND if given["clip_high"] is None else given["clip_high"],
        f"{actor}.use_kl_loss": given["beta"] > 0,
        f"{actor}.optim.lr": args.learning_rate,
        f"{actor}.ppo_mini_batch_size": prompts,
        f"{rollout}.n": args.num_generations,
        f"{rollout}.temperature": args.temperature,
        f"{rollout}.agent.default_agent_loop": "bot_grpo_single_turn",
        "reward.reward_manager.name": "bot_grpo",
        "+reward.bot_grpo.rewards": json.dumps([{k: v for k, v in asdict(s).items() if v is not None} for s in specs]),
        "+reward.bot_grpo.w_g": args.w_g,
        "+reward.bot_grpo.w_s": args.w_s,
        "+reward.bot_grpo.overlong_cache": args.overlong_cache,
        "actor_rollout_ref.model.path": args.model,
        "actor_rollout_ref.model.lora_rank": args.lora_r,
        "actor_rollout_ref.model.lora_alpha": args.lora_alpha,
        "data.train_batch_size": prompts,
        "data.max_response_length": args.max_completion_length,
        "trainer.total_training_steps": args.max_steps,
    }
    if given["beta"] > 0:
        values |= {f"{actor}.kl_loss_coef": given["beta"], f"{actor}.kl_loss_type": "low_var_kl"}
    if mode == "seq-mean-token-sum-norm":
        values[f"{actor}.loss_scale_factor"] = given["constant"] or args.max_completion_length
    for key, value in (args.chat_template_kwargs or {}).items():
        values[f"+data.apply_chat_template_kwargs.{key}"] = value
    return [f"{key}={_written(value)}" for key, value in values.items()]


def _written(value: Any) -> str:
    """A value in Hydra's grammar; text that is more than a name is quoted."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str) and not all(c.isalnum() or c in "_-./" for c in value):
        return "'" + value.replace("'", r"\'") + "'"
    return str(value)


def main(argv: list[str]) -> int:
    """Write the files. Raises UserError, TaskError."""
    if {"-h", "--help"} & set(argv):
        print(_USAGE)
        return 0
    if not argv or argv[0].startswith("-"):
        raise UserError("say where the files go: python -m bot_grpo.integrations.verl_data OUT --config RECIPE")
    out = Path(argv[0])
    check_folder(out)
    from datasets import Dataset

    from bot_grpo.cli.train import parse
    from bot_grpo.task_rows import OWN_REWARD, load_rows, messages

    args = parse(argv[1:])
    lines = overrides(args, OWN_REWARD[args.task])
    with full_disk_explained(out, ""):
        out.mkdir(parents=True, exist_ok=True)
        for name, rows in zip(("train", "test"), load_rows(args), strict=True):
            table = verl_rows(args.task, ((messages(args, row.prompt), row.row) for row in rows))
            Dataset.from_list(table).to_parquet(str(out / f"{name}.parquet"))
            print(f"{out / name}.parquet: {len(table)} rows")
        files = [
            f"data.train_files={out.resolve() / 'train.parquet'}",
            f"data.val_files={out.resolve() / 'test.parquet'}",
        ]
        (out / "overrides.txt").write_text("\n".join([*files, *lines]) + "\n")
        print(f"{out / 'overrides.txt'}: {len(lines) + 2} overrides of verl's config")
    if args.stop_tokens:
        print(f"note: verl ends completions by the model's generation_config.json; see that it has {args.stop_tokens}")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except ONE_LINE as error:
        print(f"verl_data: {error}", file=sys.stderr)
        sys.exit(2)
