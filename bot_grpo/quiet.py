"""Libraries' bars, warnings and words on every start are noise to a person; errors still show."""

from __future__ import annotations

import logging
import os
import sys
import warnings


def quiet() -> None:
    """Call it before the libraries are used; it imports transformers. `python -W` brings the warnings back."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ.setdefault("HF_DATASETS_DISABLE_PROGRESS_BARS", "1")  # read when datasets is imported
    if datasets := sys.modules.get("datasets"):
        datasets.disable_progress_bars()
    if not sys.warnoptions:
        warnings.simplefilter("ignore")
    from transformers.utils import logging as transformers_logging

    transformers_logging.disable_progress_bar()
    for name in ("transformers", "trl", "accelerate", "datasets"):
        logging.getLogger(name).setLevel(logging.ERROR)
