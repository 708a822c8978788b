"""The trackers that `tracking.py` feeds: one thin class each round its own API. Nothing of one is imported before it is
asked for, and any call may raise anything."""

from __future__ import annotations

import contextlib
import io
import os
import secrets
import string
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import yaml
from PIL import Image

from bot_grpo.rundir import RunDir

PROJECT = "bot-grpo"
"""The project that runs go to where none is set: transformers' own default says nothing."""
_NO_PROJECT = "huggingface"


@dataclass(frozen=True)
class Update:
    """What a tracker gets of one line of metrics.jsonl.

    `tables` has rows by name, all with the same columns; of `pictures` each is a PNG file.
    """

    step: int
    figures: Mapping[str, float]
    alarms: Sequence[str]
    tables: Mapping[str, Sequence[Mapping[str, Any]]]
    pictures: Mapping[str, Path]


class Tracker(Protocol):
    """A run in a tracker.

    where: what a person opens to see it. had: the last step that it had of each kind of line before this session.
    """

    where: str
    had: Mapping[str, int]

    def __init__(self, run: RunDir, args: Any, state: dict[str, Any]) -> None:
        """Begin the run there, or go on with it where `state`, which is kept with the run, says that it began."""

    def send(self, update: Update) -> None: ...

    def close(self, failed: bool) -> None: ...


class TensorBoard:
    """Event files in RUN/tensorboard. What a resumed run has cut off is purged there, and comes again."""

    def __init__(self, run: RunDir, args: Any, state: dict[str, Any]) -> None:
        from torch.utils.tensorboard import SummaryWriter

        folder = run.path / "tensorboard"
        last = max((row.get("step", 0) for row in run.read_metrics()), default=-1)
        self.had = {kind: min(step, last) for kind, step in state["steps"].items()}
        self.where = f"{folder}; see it: tensorboard --logdir {folder}"
        self._writer = SummaryWriter(str(folder), purge_step=last + 1 if state["steps"] else None)
        if not state["steps"]:
            settings = yaml.safe_dump(run.read_config(), sort_keys=False, allow_unicode=True)
            self._add(_text("config", [_as_it_is(settings)]), 0)

    def send(self, update: Update) -> None:
        for name, figure in update.figures.items():
            self._writer.add_scalar(name, figure, update.step)
        if update.alarms:
            self._add(_text("alarms", ["<br>".join(map(_as_it_is, update.alarms))]), update.step)
        for name, rows in update.tables.items():
            self._add(_text_table(name, rows), update.step)
        for name, file in update.pictures.items():
            self._add(_png(name, file), update.step)
        self._writer.flush()

    def close(self, failed: bool) -> None:
        self._writer.close()

    def _add(self, value: Any, step: int) -> None:
        """What SummaryWriter has no method for: texts by their own name, tables, and pictures that are PNG already."""
        from tensorboard.compat.proto.summary_pb2 import Summary

        assert self._writer.file_writer is not None
        self._writer.file_writer.add_summary(Summary(value=[value]), step)


def _text(name: str, cells: Sequence[str], *shape: int) -> Any:
    """A tensor of strings, of Markdown each, as TensorBoard's text plugin shows it: a text, or of two sizes a table."""
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.compat.proto.tensor_pb2 import TensorProto
    from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
    from tensorboard.compat.proto.types_pb2 import DT_STRING
    from tensorboard.plugins.text.metadata import create_summary_metadata

    sizes = TensorShapeProto(dim=[TensorShapeProto.Dim(size=size) for size in shape])
    values = [cell.encode("utf-8") for cell in cells]
    tensor = TensorProto(dtype=DT_STRING, tensor_shape=sizes, string_val=values)
    return Summary.Value(tag=name, metadata=create_summary_metadata(None, None), tensor=tensor)


def _text_table(name: str, rows: Sequence[Mapping[str, Any]]) -> Any:
    columns = list(rows[0])
    cells = [f"**{column}**" for column in columns] + [_cell(row[column]) for row in rows for column in columns]
    return _text(name, cells, len(rows) + 1, len(columns))


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return _as_it_is(value)
    return f"{value:.4g}" if isinstance(value, float) else "" if value is None else str(value)


def _as_it_is(text: str) -> str:
    """Markdown that shows a text as it is and breaks its long lines, which a code block would not: nothing in it is
    left that could be markup."""
    lines = text.expandtabs(4).split("\n")
    return "<br>".join(
        "&#160;" * (len(line) - len(line.lstrip(" ")))
        + "".join(f"&#{ord(char)};" if char in string.punctuation else char for char in line.lstrip(" "))
        for line in lines
    )


def _png(name: str, file: Path) -> Any:
    from tensorboard.compat.proto.summary_pb2 import Summary

    content = file.read_bytes()
    with Image.open(io.BytesIO(content)) as picture:
        width, height = picture.size
    image = Summary.Image(height=height, width=width, colorspace=3, encoded_image_string=content)
    return Summary.Value(tag=name, image=image)


class WandB:
    """A run of Weights & Biases: online, or with WANDB_MODE=offline in RUN/wandb. Its x axis is the training's step."""

    def __init__(self, run: RunDir, args: Any, state: dict[str, Any]) -> None:
        import wandb

        # Seconds until what it was given is in its file. By default 15, which a kill would cost; older versions have no
        # such setting, and do not look at the variable.
        os.environ.setdefault("WANDB_X_TRANSACTION_LOG_FLUSH_INTERVAL", "0.5")
        state.setdefault("id", secrets.token_hex(4))
        state.setdefault("project", os.environ.get("WANDB_PROJECT", _project(args)))
        self.had = dict(state["steps"])
        self._wandb = wandb
        self._run = wandb.init(
            id=state["id"],
            project=state["project"],
            name=_name(run, args),
            dir=str(run.path),
            config=run.read_config(),
            resume="allow",
            settings=wandb.Settings(silent=True),
        )
        # Not its own counter: that one goes on by itself, and drops what comes for a step that it has passed.
        self._run.define_metric("step", hidden=True)
        self._run.define_metric("*", step_metric="step")
        here = f"{self._run.settings.sync_dir}, offline; send it: wandb sync {run.path}/wandb/offline-run-*"
        self.where = here if self._run.offline else str(self._run.url)

    def send(self, update: Update) -> None:
        row: dict[str, Any] = {"step": update.step, **update.figures}
        if update.alarms:
            row["alarms"] = "\n".join(update.alarms)
        for name, rows in update.tables.items():
            data = [list(one.values()) for one in rows]
            row[name] = self._wandb.Table(columns=list(rows[0]), data=data, allow_mixed_types=True)
        row |= {name: self._wandb.Image(str(file)) for name, file in update.pictures.items()}
        self._run.log(row)

    def close(self, failed: bool) -> None:
        self._run.finish(exit_code=int(failed))


class Trackio:
    """A run of trackio: in its folder on this machine, or where its settings and variables say."""

    def __init__(self, run: RunDir, args: Any, state: dict[str, Any]) -> None:
        import trackio

        resume = "allow" if "id" in state else "never"
        state.setdefault("id", _name(run, args))
        state.setdefault("project", _project(args))
        self.had = dict(state["steps"])
        self._trackio = trackio
        with _heard():
            self._run = trackio.init(
                project=state["project"],
                name=state["id"],
                resume=resume,
                config=run.read_config(),
                space_id=args.trackio_space_id,
                bucket_id=args.trackio_bucket_id,
                private=args.hub_private_repo,
            )
        self.where = f"run {state['id']}; see it: trackio show --project {state['project']}"

    def send(self, update: Update) -> None:
        row: dict[str, Any] = dict(update.figures)
        row |= {name: self._trackio.Table(data=[dict(one) for one in rows]) for name, rows in update.tables.items()}
        row |= {name: self._trackio.Image(str(file)) for name, file in update.pictures.items()}
        with _heard():
            if row:
                self._run.log(row, step=update.step)
            for text in update.alarms:
                self._run.alert("alarms", text, step=update.step)

    def close(self, failed: bool) -> None:
        with _heard():
            self._trackio.finish()


@contextlib.contextmanager
def _heard() -> Iterator[None]:
    """Around calls of trackio's, which prints what it does, and warns of what it could not do: that is raised."""
    with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("always")
        yield
    for one in caught:
        if one.category is UserWarning and "trackio" in Path(one.filename).parts:
            raise RuntimeError(str(one.message))


def _project(args: Any) -> str:
    return str(args.project) if args.project != _NO_PROJECT else PROJECT


def _name(run: RunDir, args: Any) -> str:
    return str(args.run_name or run.path.absolute().name)


OPEN: dict[str, Any] = {"tensorboard": TensorBoard, "trackio": Trackio, "wandb": WandB}
"""The trackers by what `report_to` calls them."""
