"""Checkpoints of the HF Trainer that a kill at any moment leaves whole or unseen, and that are never trained past."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from transformers import Trainer
from transformers.trainer import TRAINER_STATE_NAME
from transformers.trainer_utils import PREFIX_CHECKPOINT_DIR

from reward_models.file_modes import set_ordinary_modes


class SealedCheckpoints(Trainer):
    """A Trainer whose checkpoint is whole if it has a trainer_state.json; named first, it makes another Trainer so.

    The Trainer writes that file last, but not at once, and without waiting for the other processes' files. And resumed
    from the checkpoint of its last step, it makes one more.
    """

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        folder = Path(self._get_output_dir(trial=trial)) / f"{PREFIX_CHECKPOINT_DIR}-{self.state.global_step}"
        with self._sealing(folder):
            super()._save_checkpoint(model, trial)

    @contextmanager
    def _sealing(self, folder: Path) -> Iterator[None]:
        state = self.state
        write = state.save_to_json

        def seal(path: str) -> None:
            self.accelerator.wait_for_everyone()
            write(f"{path}.tmp")
            set_ordinary_modes(folder)
            os.replace(f"{path}.tmp", path)

        if self.args.should_save:
            (folder / TRAINER_STATE_NAME).unlink(missing_ok=True)
        vars(state)["save_to_json"] = seal  # before the method of that name
        try:
            yield
        finally:
            del vars(state)["save_to_json"]
        if not self.args.should_save:
            self.accelerator.wait_for_everyone()

    def _run_epoch(self, *args: Any, **kwargs: Any) -> None:
        if self.state.global_step < self.state.max_steps:
            super()._run_epoch(*args, **kwargs)
        else:
            self.control.should_training_stop = True
