"""Writes tasks/data/react.jsonl."""

from tasks.react import BUNDLED
from tasks.react_families import render

if __name__ == "__main__":
    text = render()
    BUNDLED.write_text(text, encoding="utf-8")
    print(f"{text.count(chr(10))} rows in {BUNDLED}")
