"""What a component may cost. Of 182 real components none came near the first three: 13 kB, 17 deep, 34 arrows."""

MAX_BYTES = 200_000
MAX_DEPTH = 256
MAX_ARROWS = 200

VIRTUAL_MS = 2000
"""How far a page's clock runs before the screenshot: long enough for the loading screens that apps pretend to have."""
AFTER_CLICK_MS = 600
"""How far it runs after a click."""

JUDGE_CPU_S = 1.0
"""Seconds on a CPU that the page judge may take for a page."""

MEMORY = 2 << 30
"""Bytes that a render process, its browser and what stands between them may hold together."""
PATIENCE = 8
"""On a busy machine a component gets up to so many times as long, for all that is done with it together."""
RECYCLE_AFTER = 200
"""Components after which a browser is replaced: its memory grows."""
