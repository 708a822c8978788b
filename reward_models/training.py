"""Learn a token classifier from labelled completions, on the HF Trainer: which tokens, and which steps, are wrong.

The head reads the last hidden state of a causal language model, so a score is of what has been read so far. Labels are
as in `token_labels`; a wrong token is rare, so the loss weighs the two classes alike (weights N / 2 N_c), and what that
adds to the log-odds, log(N_right / N_wrong), is taken off again before they are probabilities (Elkan, IJCAI 2001,
theorem 2, has the same of priors). A temperature for tokens and one for steps are then fitted to held-out problems.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from statistics import fmean
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy
from torch.utils.data import Dataset, Sampler
from transformers import (
    AutoModelForTokenClassification,
    PrinterCallback,
    ProgressCallback,
    TrainerCallback,
    TrainingArguments,
    set_seed,
)

from reward_models.checkpoints import SealedCheckpoints
from reward_models.errors import RewardError
from reward_models.file_modes import set_ordinary_modes
from reward_models.learned import Settings, reader, wrong_logits
from reward_models.pretrained import load_config, load_tokenizer, padded
from reward_models.quality import Finding, Quality, finding, step_quality, token_quality
from reward_models.reading import TEMPLATES
from reward_models.token_labels import IGNORED, Labelled, labelled, parted, token_counts
from reward_models.training_data import Example, distinct

CHECKPOINTS = "checkpoints"


@dataclass(frozen=True)
class TrainSettings:
    """How to train.

    model: a folder or a hub id of a causal language model. layers: how many of its layers are kept, from the first; 0
    keeps all. What is wrong with a text is often plain to the lower half, at half of the cost. lora_r: rank of LoRA on
    all linear layers; 0 trains every weight. epochs: passes over the rows; max_steps above 0 overrides it. batch_size:
    rows a step, `micro_batch_size` of them in memory at a time. learning_rate: reached after a tenth of the steps, then
    it falls to 0 in a line. max_length: tokens of problem and completion; what is beyond is cut off. held_out: share of
    the problems that is only measured on. labels: "first" counts nothing after a row's first mistake, "all" counts
    every mark. split: what parts steps (`step_text.split_steps`), None: as most rows have it. template: "chat", "plain"
    or "auto" (`reading`).
    """

    model: str
    layers: int = 0
    lora_r: int = 0
    epochs: float = 1.0
    max_steps: int = -1
    batch_size: int = 8
    micro_batch_size: int = 8
    learning_rate: float = 1e-4
    max_length: int = 1024
    held_out: float = 0.1
    labels: str = "first"
    split: str | None = None
    template: str = "auto"
    seed: int = 0
    bf16: bool = False
    device: str | None = None

    def check(self) -> None:
        """Raises RewardError for a setting that is none."""
        if self.labels not in ("first", "all"):
            raise RewardError(f"labels is first or all, not {self.labels!r}")
        if self.template not in TEMPLATES:
            raise RewardError(f"template is one of {', '.join(TEMPLATES)}, not {self.template!r}")
        if not 0 < self.held_out < 1:
            raise RewardError(f"held_out is a share of the problems, above 0 and below 1, not {self.held_out!r}")
        for name in ("epochs", "batch_size", "micro_batch_size", "learning_rate", "max_length"):
            if not 0 < getattr(self, name) < math.inf:
                raise RewardError(f"{name} is a number above 0, not {getattr(self, name)!r}")
        if self.max_steps < 1 and self.max_steps != -1:
            raise RewardError(f"max_steps is a number above 0, or -1 (as many as epochs takes), not {self.max_steps!r}")
        if self.layers < 0:
            raise RewardError(f"layers is 0 (keep all) or more, not {self.layers!r}")
        if self.lora_r < 0:
            raise RewardError(f"lora_r is 0 (train every weight) or more, not {self.lora_r!r}")
        if self.batch_size % self.micro_batch_size:
            raise RewardError(
                f"batch_size {self.batch_size} is no multiple of {self.micro_batch_size}, the micro-batch's"
            )


@dataclass(frozen=True)
class Data:
    """Rows in tokens. `dropped` had no label within max_length tokens; `cut` of the others are longer than that."""

    train: tuple[Labelled, ...]
    held_out: tuple[Labelled, ...]
    split: str
    dropped: int
    cut: int

    @property
    def shift(self) -> float:
        """What the loss's weights add to the log-odds of wrong."""
        wrong, right = token_counts(self.train)
        return math.log(right / wrong)


@dataclass(frozen=True)
class Trained:
    """What came out. `stopped`: it was stopped before the last step, and a checkpoint is in the folder, no model."""

    data: Data
    settings: Settings
    steps: int
    seconds: float
    loss: float
    tokens: Quality | None
    step: Quality | None
    finding: Finding | None
    stopped: bool = False


def prepare(examples: Sequence[Example], settings: TrainSettings) -> Data:
    """Examples as rows to learn from and rows held out.

    Raises:
        RewardError: a setting that is none, too few problems, or labels of one kind only.
    """
    settings.check()
    rows = list(distinct(examples))
    if not rows:
        raise RewardError("the data holds no labelled row")
    split = settings.split or Counter(row.split for row in rows).most_common(1)[0][0]
    read = reader(load_tokenizer(settings.model), settings.template, _limit(settings))
    first = settings.labels == "first"
    found = [one for row in rows if (one := labelled(row, read, split, first=first)) is not None]
    if len({row.problem for row in found}) < 2:
        raise RewardError("the rows are of one problem, or none: held-out problems need a second one")
    train, held_out = parted(found, settings.held_out, settings.seed)
    for name, some in (("learn from", train), ("hold out", held_out)):
        wrong, right = token_counts(some)
        if some is train and not (wrong and right):
            raise RewardError(f"the rows to {name} have {wrong} wrong tokens and {right} right ones: both are needed")
    cut = sum(row.read.cut for row in found)
    return Data(tuple(train), tuple(held_out), split, len(rows) - len(found), cut)


def train(
    data: Data,
    settings: TrainSettings,
    output: Path,
    *,
    callbacks: Sequence[TrainerCallback] = (),
    resume: Path | None = None,
) -> Trained:
    """Train, measure on the held-out rows, and leave a folder that `learned.LearnedReward` loads.

    In `output`/checkpoints, which is to be deleted after it, is what a training that was stopped leaves, and from one
    of which `resume` goes on with the same data and settings. Raises RewardError for a model that cannot be loaded.
    """
    set_seed(settings.seed)
    model = _classifier(settings)
    trainer = _Trainer(
        model=model,
        args=_arguments(settings, output),
        train_dataset=_Rows(data.train),
        data_collator=_collate,
        compute_loss_func=_loss(data),
        callbacks=list(callbacks),
    )
    for printer in (PrinterCallback, ProgressCallback):
        trainer.remove_callback(printer)
    result = trainer.train(resume_from_checkpoint=None if resume is None else str(resume))
    made = Settings(settings.template, _limit(settings), data.split, data.shift, 1.0, 1.0)
    state = trainer.state
    seconds = float(result.metrics["train_runtime"])
    loss = fmean(row["loss"] for row in state.log_history if "loss" in row)  # of all steps, also those before a stop
    out = Trained(data, made, state.global_step, seconds, loss, None, None, None, True)
    if state.global_step < state.max_steps:
        return out
    model = model.merge_and_unload() if settings.lora_r else model
    model.eval()
    known = wrong_logits(model, (row.read for row in data.held_out))
    scores = [known[row.read] - data.shift for row in data.held_out]
    tokens, step = token_quality(data.held_out, scores), step_quality(data.held_out, scores)
    made = replace(
        made,
        token_temperature=tokens.temperature if tokens else 1.0,
        step_temperature=step.temperature if step else 1.0,
    )
    model.save_pretrained(output)
    load_tokenizer(settings.model).save_pretrained(output)
    set_ordinary_modes(output)
    made.write(output)  # last: where it is, the rest is
    found = finding(data.held_out, scores)
    return replace(out, settings=made, tokens=tokens, step=step, finding=found, stopped=False)


def _limit(settings: TrainSettings) -> int:
    positions = getattr(load_config(settings.model).get_text_config(), "max_position_embeddings", None)
    return min(settings.max_length, int(positions or settings.max_length))


def _classifier(settings: TrainSettings) -> Any:
    """The language model with a new head of two classes, in float32, and LoRA where it is asked for."""
    config = load_config(settings.model)
    config.id2label, config.label2id = {0: "wrong", 1: "right"}, {"wrong": 0, "right": 1}
    if settings.layers:
        text = config.get_text_config()
        if settings.layers > text.num_hidden_layers:
            raise RewardError(
                f"layers is {settings.layers}, and {settings.model} has {text.num_hidden_layers}; 0 keeps all"
            )
        text.num_hidden_layers = settings.layers
        if getattr(text, "layer_types", None):
            text.layer_types = text.layer_types[: settings.layers]
    try:
        model = AutoModelForTokenClassification.from_pretrained(settings.model, config=config, dtype=torch.float32)
    except (OSError, ValueError) as error:
        reason = str(error).strip().splitlines()[0][:200] if str(error).strip() else type(error).__name__
        raise RewardError(f"{settings.model} cannot be loaded as a token classifier: {reason}") from error
    if not settings.lora_r:
        return model
    from peft import LoraConfig, TaskType, get_peft_model

    config = LoraConfig(
        task_type=TaskType.TOKEN_CLS,  # the head is trained whole
        r=settings.lora_r,
        lora_alpha=2 * settings.lora_r,
        target_modules="all-linear",
        exclude_modules=["score", "classifier"],
    )
    return get_peft_model(model, config)


def _arguments(settings: TrainSettings, output: Path) -> TrainingArguments:
    return TrainingArguments(
        output_dir=str(output / CHECKPOINTS),
        num_train_epochs=settings.epochs,
        max_steps=settings.max_steps,
        per_device_train_batch_size=settings.micro_batch_size,
        gradient_accumulation_steps=settings.batch_size // settings.micro_batch_size,
        learning_rate=settings.learning_rate,
        lr_scheduler_type="linear",
        warmup_steps=0.1,
        weight_decay=0.01,
        seed=settings.seed,
        data_seed=settings.seed,
        save_strategy="epoch",
        save_total_limit=1,
        logging_steps=1,
        disable_tqdm=True,
        report_to=[],
        bf16=settings.bf16,
        use_cpu=settings.device == "cpu",
        remove_unused_columns=False,
    )


class _Trainer(SealedCheckpoints):
    """The HF Trainer with batches of like lengths, in an order that a resumed training finds again."""

    def _get_train_sampler(self, train_dataset: Any = None) -> Sampler[int]:
        rows: Any = train_dataset if train_dataset is not None else self.train_dataset
        lengths = [len(rows[n]["input_ids"]) for n in range(len(rows))]
        return _ByLength(lengths, self.args.per_device_train_batch_size, self.args.seed)


class _ByLength(Sampler[int]):
    """Indices of rows: batches of neighbours in length, shuffled anew each epoch; the odd one out is last."""

    def __init__(self, lengths: Sequence[int], size: int, seed: int) -> None:
        self._lengths, self._size, self._seed, self._epoch = lengths, size, seed, 0

    def set_epoch(self, epoch: int) -> None:
        self._epoch = epoch

    def __len__(self) -> int:
        return len(self._lengths)

    def __iter__(self) -> Iterator[int]:
        rng = random.Random(f"{self._seed} {self._epoch}")
        order = rng.sample(range(len(self)), len(self))
        order.sort(key=lambda n: self._lengths[n])
        batches = [order[n : n + self._size] for n in range(0, len(order), self._size)]
        rest = batches.pop() if len(batches[-1]) < self._size else []
        rng.shuffle(batches)
        return chain(*batches, rest)


class _Rows(Dataset[dict[str, Any]]):
    """Ids and labels of rows, not yet padded."""

    def __init__(self, rows: Sequence[Labelled]) -> None:
        self._rows = [{"input_ids": row.read.ids, "labels": row.labels} for row in rows]

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int) -> dict[str, Any]:
        return self._rows[index]


def _collate(rows: list[dict[str, Any]]) -> dict[str, Tensor]:
    ids_BT, mask_BT = padded([row["input_ids"] for row in rows], torch.device("cpu"))
    labels_BT = torch.full_like(ids_BT, IGNORED)
    for n, row in enumerate(rows):
        labels_BT[n, : len(row["labels"])] = torch.tensor(row["labels"])
    mask = {} if mask_BT is None else {"attention_mask": mask_BT}
    return {"input_ids": ids_BT, "labels": labels_BT, **mask}


def _loss(data: Data) -> Callable[..., Tensor]:
    """Cross-entropy, weighted so that each class counts for half; a mean over the labelled tokens of a step's rows."""
    wrong, right = token_counts(data.train)
    weight = torch.tensor([(wrong + right) / (2 * wrong), (wrong + right) / (2 * right)])

    def loss(outputs: Any, labels: Tensor, num_items_in_batch: Tensor | int | None = None) -> Tensor:
        logits_NC, labels_N = outputs.logits.flatten(0, 1).float(), labels.flatten()
        total = cross_entropy(
            logits_NC, labels_N, weight=weight.to(logits_NC.device), ignore_index=IGNORED, reduction="sum"
        )
        return total / (num_items_in_batch if num_items_in_batch is not None else (labels_N != IGNORED).sum())

    return loss
