"""The rows of tokens/*.parquet (`token_stats` makes them), for who reads a run: without torch, so pages open fast."""

from __future__ import annotations

from collections.abc import Iterable, MutableMapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

SCHEMA = pa.schema(
    [
        ("step", pa.int64()),
        ("place", pa.int64()),
        ("entropies", pa.list_(pa.float16())),
        ("log_ratios", pa.list_(pa.float16())),
    ]
)
"""A row a rollout, named by the step and its place in the batch of all processes, as in the rollouts' file.

entropies: of the next-token distribution, in nats, when the loss was first computed on the row; null before that.
log_ratios: log(pi / pi_old) of the sampled token, as the last update on the row saw it. Null where the batch makes one
update: there the ratio is exactly 1.
"""


def attach(rows: Iterable[MutableMapping[str, Any]], folder: Path, notes: list[str]) -> None:
    """Give rows of the rollouts' files their `entropies` and `log_ratios` from `folder`, where that has them."""
    named = [row for row in rows if row["kind"] == "train" and row.get("place") is not None]
    wanted = {(row["step"], row["place"]): row for row in named}
    steps = {step for step, _ in wanted}
    for file in sorted(folder.glob("*.parquet")):
        number = file.stem.rsplit("-", 1)[-1]
        if not number.isdigit() or int(number) not in steps:
            continue
        try:
            found = pq.read_table(file, columns=SCHEMA.names)
        except (pa.ArrowException, OSError, ValueError):
            notes.append(f"tokens/{file.name} could not be read (still being written, or damaged).")
            continue
        keys = zip(found["step"].to_pylist(), found["place"].to_pylist(), strict=True)
        for i, key in enumerate(keys):
            if row := wanted.get(key):
                row.update({name: _floats(found[name][i]) for name in ("entropies", "log_ratios")})


def _floats(values: pa.ListScalar) -> list[float] | None:
    return None if not values.is_valid else values.values.to_numpy(zero_copy_only=False).astype(float).tolist()
