"""Find the React component in a chat reply: `extract(reply)`.

`sandbox.reply` reads a reply into candidates: fenced blocks, unfenced code, strings of a JSON reply; never thoughts.
The best candidate is, in this order: a component rather than something else, closed rather than cut off, with a default
export, without imports of files of its own, fenced, last. So a draft loses to the final version, and a usage example or
a second version that was cut off loses to a component that is whole.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from sandbox.codetext import CODE_START, component_rank, stands_alone
from sandbox.reply import OTHER_LANGUAGES, Candidate, candidates

ExtractionStatus = Literal["ok", "no_code", "not_component", "truncated"]


@dataclass(frozen=True)
class Extraction:
    """The component found in a reply.

    `status` is `truncated` when the reply ended inside the code: an open fence, or open brackets where there is no
    fence. The code comes out and is worth compiling: sometimes only the end of the fence is missing. With `no_code` and
    `not_component` the code is empty.

    `start` is the offset in the reply of the code's first character, and `line_starts[i]` that of the first character
    of line i + 1 (of an empty line: of its line end). Lines end as JavaScript's do: LF, CRLF, CR, U+2028, U+2029. Where
    the code stands in the reply as one piece, `reply[start:start + len(code)] == code`. In a block quote or an indented
    fence each line is one piece, its quote marks and common indent left out; in a JSON string a line starts where its
    first character's escape does, and each escape before a column moves that column to the right in the reply.

    `language` is what the fence says, in lower case ("tsx" for "```TSX:src/App.tsx"); empty where nothing is said.
    """

    code: str
    start: int
    language: str
    status: ExtractionStatus
    line_starts: tuple[int, ...] = ()

    def offset(self, line: int, column: int = 1) -> int:
        """Offset in the reply of a (line, column) of the code, both from 1; a line out of range moves to the edge."""
        if not self.line_starts:
            return self.start
        return self.line_starts[min(max(line, 1), len(self.line_starts)) - 1] + max(column, 1) - 1


def extract(reply: str) -> Extraction:
    """Find the component in a chat reply. Never raises; takes time linear in the length of the reply."""
    found = candidates(reply)
    if not found:
        return Extraction("", 0, "", "no_code")
    best, rank = max(
        ((c, _rank(c)) for c in found),
        key=lambda pair: (
            pair[1] >= 2,
            pair[0].closed,
            pair[1],
            stands_alone(pair[0].code),
            pair[0].fenced,
            pair[0].start,
        ),
    )
    if not rank:
        return Extraction("", 0, best.language, "not_component")
    starts = tuple(best.place(i) for i in _line_starts(best.code))
    return Extraction(best.code, starts[0], best.language, "ok" if best.closed else "truncated", starts)


def _rank(candidate: Candidate) -> int:
    # Models do label a fence wrongly, so another language is believed unless the block begins as a module does.
    if candidate.language in OTHER_LANGUAGES and not CODE_START.match(candidate.code):
        return 0
    return component_rank(candidate.code)


_LINE_END = re.compile("\r\n|[\n\r\u2028\u2029]")


def _line_starts(code: str) -> list[int]:
    return [0, *(m.end() for m in _LINE_END.finditer(code))]
