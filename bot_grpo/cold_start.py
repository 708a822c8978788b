"""A few supervised steps on the task's own reference answers, so that reward has somewhere to start from."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import Dataset
from transformers import PreTrainedTokenizerBase, Trainer, TrainerCallback, TrainingArguments

from bot_grpo.resume import UNREADABLE
from bot_grpo.rundir import folder_once

IGNORED = -100
_WEIGHTS, _ABOUT = "weights.pt", "about.json"


class Demonstrations(Dataset[dict[str, Tensor]]):
    """Prompt and reference answer as ids; only the answer, and the EOS that ends it, is learned.

    `template` are further arguments of the chat template.
    """

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerBase,
        prompts: Sequence[list[dict[str, str]]],
        answers: Sequence[str],
        template: Mapping[str, Any] | None = None,
    ) -> None:
        self._rows = []
        for prompt, answer in zip(prompts, answers, strict=True):
            chat: Any = tokenizer.apply_chat_template(
                prompt, add_generation_prompt=True, return_dict=True, **(template or {})
            )
            before = chat["input_ids"]
            after = [*tokenizer(answer, add_special_tokens=False)["input_ids"], tokenizer.eos_token_id]
            ids, labels = torch.tensor([*before, *after]), torch.tensor([IGNORED] * len(before) + after)
            self._rows.append({"input_ids": ids, "labels": labels})

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int) -> dict[str, Tensor]:
        return self._rows[index]


def _collate(rows: list[dict[str, Tensor]]) -> dict[str, Tensor]:
    ids = pad_sequence([r["input_ids"] for r in rows], batch_first=True)
    labels = pad_sequence([r["labels"] for r in rows], batch_first=True, padding_value=IGNORED)
    mask = pad_sequence([torch.ones_like(r["input_ids"]) for r in rows], batch_first=True)
    return {"input_ids": ids, "labels": labels, "attention_mask": mask}


def cold_start(
    model: Any,
    data: Demonstrations,
    *,
    steps: int,
    batch_size: int,
    micro_batch_size: int | None = None,
    learning_rate: float,
    seed: int,
    output_dir: str,
    use_cpu: bool,
    bf16: bool = False,
    callbacks: Sequence[TrainerCallback] = (),
) -> float:
    """Train `model` in place for `steps` steps, each of which logs its loss; returns the mean loss (nats a token).

    `micro_batch_size` rows are in memory at a time, where it divides a process' share of `batch_size`; the loss is the
    same.
    """
    share = max(1, batch_size // (dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1))
    micro = micro_batch_size if micro_batch_size and share % micro_batch_size == 0 else share
    args = TrainingArguments(
        output_dir=output_dir,
        max_steps=steps,
        per_device_train_batch_size=micro,
        gradient_accumulation_steps=share // micro,
        learning_rate=learning_rate,
        lr_scheduler_type="constant",
        seed=seed,
        data_seed=seed,
        save_strategy="no",
        report_to=[],
        disable_tqdm=True,
        logging_steps=1,
        use_cpu=use_cpu,
        bf16=bf16,  # autocast is set for the whole process: what follows must ask for the same
        remove_unused_columns=False,
    )
    trainer = Trainer(model=model, args=args, train_dataset=data, data_collator=_collate, callbacks=[*callbacks])
    trainer.remove_callback(_printer())
    return float(trainer.train().training_loss)


class Kept(NamedTuple):
    """What a cold start came to: its mean loss (nats a token) and the weights that it trained, by name."""

    loss: float
    weights: dict[str, Tensor]


def name_of(model: Any, data: Demonstrations, about: Mapping[str, Any]) -> str:
    """A name that two cold starts share where they begin with the same weights, answers and `about`.

    `about` is whatever else they depend on, as JSON takes it.
    """
    digest = hashlib.sha256(json.dumps(about, sort_keys=True).encode())
    for name, parameter in model.named_parameters():
        digest.update(f"{name} {parameter.dtype} {parameter.requires_grad}".encode())
        digest.update(parameter.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy())
    for i in range(len(data)):
        digest.update(json.dumps({key: value.tolist() for key, value in data[i].items()}).encode())
    return digest.hexdigest()[:16]


def keep(folder: Path, model: Any, loss: float) -> str:
    """Leave what was learned in a folder of its own, whole or not at all; one that can be read stays as it is.

    Returns why it could not be kept, or nothing: a run can do without.
    """
    learned = {name: p.detach() for name, p in model.named_parameters() if p.requires_grad}
    try:
        if kept(folder) is None:  # there is none, or it is damaged
            shutil.rmtree(folder, ignore_errors=True)
        with folder_once(folder, proof=_ABOUT) as scratch:
            torch.save(learned, scratch / _WEIGHTS)
            (scratch / _ABOUT).write_text(json.dumps({"loss": loss}), encoding="utf-8")
    except (OSError, RuntimeError) as error:  # torch says RuntimeError where the disk is full
        return " ".join(str(error).split())[:200]
    return ""


def kept(folder: Path) -> Kept | None:
    """The cold start that a folder keeps; None where there is none, or it cannot be read."""
    try:
        loss = float(json.loads((folder / _ABOUT).read_text(encoding="utf-8"))["loss"])
        return Kept(loss, torch.load(folder / _WEIGHTS, map_location="cpu", weights_only=True))
    except (*UNREADABLE, TypeError):
        return None


@torch.no_grad()
def take(found: Kept, model: Any) -> None:
    """Give a model the weights of a kept cold start."""
    parameters = dict(model.named_parameters())
    for name, value in found.weights.items():
        parameters[name].copy_(value)


def _printer() -> type:
    from transformers.trainer_callback import PrinterCallback

    return PrinterCallback
