"""A trained model as others load it: one folder with plain weights (or the adapter), tokenizer, model card and curves.

Written beside its place and renamed, so that an export is there whole or not at all. `hub.push` sends one to the hub.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
import yaml
from transformers import AutoModelForCausalLM, GenerationConfig, PreTrainedModel, PreTrainedTokenizerBase

from bot_grpo import models
from bot_grpo.backends import adapter_base, policy_folder
from bot_grpo.disk import full_disk_explained
from bot_grpo.errors import UserError
from bot_grpo.model_card import Evaluation, card, public
from bot_grpo.pages import check_folder
from bot_grpo.rundir import TRAINING, RunDir, commit, config_of, versions, whole_folder

_NAMES = {"F32": "float32", "BF16": "bfloat16", "F16": "float16"}
DTYPES = ("auto", "bfloat16", "float16", "float32")


@dataclass(frozen=True)
class Source:
    """What is exported: the folder of a model, or of an adapter of `base`; of which run and step, as far as is known.

    `settings` are the run's; empty where the model is of no run.
    """

    folder: Path
    base: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    run: Path | None = None
    step: int | None = None


@dataclass(frozen=True)
class Exported:
    """An export on disk. `kind`: merged (an adapter and its base), adapter, or weights; `size` in bytes."""

    path: Path
    kind: str
    dtype: str
    size: int


def find_source(name: str) -> Source:
    """A run, a checkpoint, an adapter or a model's folder. Raises UserError where it is none of these."""
    folder = Path(policy_folder(name)).expanduser()
    if not any((folder / file).is_file() for file in ("config.json", "adapter_config.json")):
        raise UserError(f"{name!r} is no run, checkpoint, adapter or model: give a folder that train wrote")
    base = adapter_base(str(folder))
    found = config_of(folder)
    settings = {} if found is None else found[1]
    run = found[0].parent if found is not None and found[0].name == "config.yaml" else None
    return Source(folder, base, settings, run, _step(folder, run, settings))


def _step(folder: Path, run: Path | None, settings: Mapping[str, Any]) -> int | None:
    prefix, _, number = folder.name.rpartition("-")
    if prefix == "checkpoint" and number.isdigit():
        return int(number)
    if run is None:
        return settings.get("step")
    return max((row["step"] for row in RunDir(run).read_metrics() if isinstance(row.get("step"), int)), default=None)


def check_output(output: Path) -> None:
    """Raise UserError where an export cannot be written: something else is there, or the disk says no."""
    if output.exists() and not (output / TRAINING).is_file() and (not output.is_dir() or any(output.iterdir())):
        raise UserError(f"{output} holds something else than an export; choose another --output")
    check_folder(output)


def export(
    source: Source,
    output: Path,
    *,
    dtype: str = "auto",
    adapter_only: bool = False,
    evaluations: tuple[Evaluation, ...] = (),
    hub_id: str | None = None,
) -> Exported:
    """Write the export, in the place of an earlier one.

    An adapter is merged into its base unless `adapter_only`. "auto": the dtype that the weights are kept in, of an
    adapter those of its base. The generation config has every token that ends a completion and the temperature that
    training sampled at; the chat template takes `chat_template_kwargs` as defaults. `hub_id` is what the card calls the
    model. Raises UserError.
    """
    if adapter_only and source.base is None:
        raise UserError(f"{source.folder} is no adapter: all weights were trained, so leave --adapter-only out")
    if adapter_only and dtype != "auto":
        raise UserError("--adapter-only keeps the adapter as it was trained: leave --dtype out")
    check_output(output)
    kind = "adapter" if adapter_only else "merged" if source.base else "weights"
    with _writing(output), whole_folder(output) as folder:
        tokenizer = _tokenizer(source)
        tokenizer.save_pretrained(folder)
        write = _write_adapter if adapter_only else _write_model
        kept = write(source, folder, tokenizer, dtype)
        name = hub_id or output.absolute().name
        title = source.run.absolute().name if hub_id is None and source.run is not None else name.rpartition("/")[2]
        _write_card(source, folder, kind, kept, evaluations, name, title)
    return Exported(output, kind, kept, sum(f.stat().st_size for f in output.rglob("*") if f.is_file()))


def read_evaluation(folder: Path, source: Source, name: str) -> Evaluation:
    """What `bot-grpo eval` found of this model. Raises UserError: it is no evaluation, or of another model."""
    try:
        found = json.loads((folder / "results.json").read_text(encoding="utf-8"))
        model = found["settings"]["model"]
        found["pass_at_k"], found["n"]  # as an evaluation has them
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise UserError(f"--evaluation {folder}: there is no results.json of an evaluation") from error
    own = {Path(place).expanduser().resolve() for place in (source.folder, source.run or name, name)}
    try:
        of = {Path(model).expanduser().resolve(), Path(policy_folder(model)).expanduser().resolve()}
    except UserError:
        of = set()
    if not own & of:
        raise UserError(f"--evaluation {folder} is of {model}, not of {name}: evaluate this model")
    return Evaluation(found)


# -- the parts of an export -------------------------------------------------------------------------------------------


def _tokenizer(source: Source) -> PreTrainedTokenizerBase:
    tokenizer = models.load_policy_tokenizer(str(source.folder), source.base)
    asked = source.settings.get("chat_template_kwargs")
    if isinstance(tokenizer.chat_template, str) and isinstance(asked, Mapping):
        tokenizer.chat_template = with_defaults(tokenizer.chat_template, asked)
    return tokenizer


def with_defaults(template: str, values: Mapping[str, Any]) -> str:
    """A chat template whose variables have these values where its caller gives none."""
    words = {name: "none" if value is None else json.dumps(value) for name, value in values.items()}
    lines = [f"{{%- if {k} is not defined %}}{{%- set {k} = {v} %}}{{%- endif %}}" for k, v in words.items()]
    return "".join(lines) + template


def _write_model(source: Source, folder: Path, tokenizer: PreTrainedTokenizerBase, dtype: str) -> str:
    model = models.load_policy(str(source.folder), source.base, dtype=dtype)
    _set_generation(model, tokenizer, source.settings)
    model.save_pretrained(folder)
    _check_weights(folder)
    return str(model.dtype).removeprefix("torch.")


def _set_generation(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, settings: Mapping[str, Any]) -> None:
    """All tokens that end a completion; and of a run, sampling as it was in training, for that is what was trained."""
    models.stop_at(model, tokenizer, settings.get("stop_tokens") or [])
    known = model.generation_config
    assert known is not None
    if settings:
        model.generation_config = GenerationConfig(
            bos_token_id=known.bos_token_id,
            eos_token_id=known.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
            do_sample=True,
            temperature=float(settings.get("temperature", 1.0)),
            top_p=float(settings.get("top_p", 1.0)),
            top_k=int(settings.get("top_k", 0)),  # unset, transformers would take 50
        )


def _check_weights(folder: Path) -> None:
    """Raise RuntimeError unless the weights on disk are those of the architecture, by name and shape. None is read."""
    loaded: Any = AutoModelForCausalLM.from_pretrained(folder, device_map="meta", output_loading_info=True)
    if wrong := {kind: names for kind, names in loaded[1].items() if names}:
        raise RuntimeError(f"what was exported is not what its config.json says: {wrong}")


def _write_adapter(source: Source, folder: Path, tokenizer: PreTrainedTokenizerBase, dtype: str) -> str:
    from safetensors import safe_open

    weights = source.folder / "adapter_model.safetensors"
    if not weights.is_file():
        raise UserError(f"{source.folder} has no adapter_model.safetensors; export it without --adapter-only")
    config = json.loads((source.folder / "adapter_config.json").read_text(encoding="utf-8"))
    config["base_model_name_or_path"] = base_name(str(source.base))
    (folder / "adapter_config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    shutil.copyfile(weights, folder / weights.name)
    with safe_open(folder / weights.name, "pt") as kept:
        return _NAMES.get(first := kept.get_slice(next(iter(kept.keys()))).get_dtype(), str(first))


def base_name(base: str) -> str:
    """What an adapter's base is called elsewhere: the embedded model has another folder on every machine."""
    return models.EMBEDDED if Path(base).expanduser().parent == models.cache_dir() else base


def _write_card(
    source: Source,
    folder: Path,
    kind: str,
    dtype: str,
    evaluations: tuple[Evaluation, ...],
    name: str,
    title: str,
) -> None:
    settings = dict(source.settings)
    base = base_name(str(settings.get("model") or source.base or ""))
    if source.run is not None:
        rows = RunDir(source.run).read_metrics()
        rows = [r for r in rows if isinstance(r.get("step"), int) and r["step"] <= (source.step or 0)]
    else:
        rows = []
    text, curves = card(
        settings,
        rows,
        kind=kind,
        dtype=dtype,
        base=base,
        step=source.step,
        evaluations=evaluations,
        name=name,
        title=title,
    )
    (folder / "README.md").write_text(text, encoding="utf-8")
    if curves:
        (folder / "curves.svg").write_text(curves, encoding="utf-8")
    recorded: dict[str, Any] = {key: settings[key] for key in ("versions", "commit") if key in settings}
    recorded |= {"step": source.step, "exported_with": {"commit": commit(), "versions": versions()}}
    kept = {**public(settings), **recorded}
    (folder / TRAINING).write_text(yaml.safe_dump(kept, sort_keys=False, allow_unicode=True), encoding="utf-8")


@contextmanager
def _writing(output: Path) -> Iterator[None]:
    try:
        with full_disk_explained(output, ""):
            yield
    except OSError as error:
        raise UserError(f"{output} cannot be written: {error.strerror or error}") from error
    except (torch.OutOfMemoryError, MemoryError) as error:
        raise UserError("there is too little memory to merge this model: use a machine with more of it") from error
