"""Read a chat reply into the pieces of it that could be the component: `candidates(reply)`.

The reply is read once, line by line, as a mix of prose, fenced blocks, thoughts (`<think>`) and wrapper tags
(`<answer>`, artifacts). What a thought holds is skipped. Nothing here judges the code; `sandbox.extract` chooses.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from sandbox.codetext import (
    CODE_START,
    FOREIGN,
    HTML_PAGE,
    INLINE_CODE_START,
    INVISIBLE,
    WRAPPER_TAG,
    code_end,
    first_line,
)

OTHER_LANGUAGES = frozenset(
    """python py html xml svg vue svelte css scss sass less json yaml yml toml bash sh shell zsh console text txt
    plaintext diff sql java c cpp go rust ruby php kotlin swift dart graphql mermaid""".split()  # noqa: SIM905
)
_MARKDOWN = frozenset({"markdown", "md", "mdx"})
_JAVASCRIPT = {"jsx", "tsx", "js", "ts", "javascript", "typescript", "react", "reactjs", "mjs", "cjs", "mts"}
_LANGUAGES = OTHER_LANGUAGES | _MARKDOWN | _JAVASCRIPT

Place = Callable[[int], int]
"""From an index in a text to the offset in the reply."""


@dataclass(frozen=True)
class Candidate:
    """A piece of code, never empty, no blank lines around it. `place(i)` is where `code[i]` stands in the reply."""

    code: str
    place: Place
    language: str
    closed: bool
    fenced: bool

    @property
    def start(self) -> int:
        return self.place(0)


def candidates(reply: str) -> list[Candidate]:
    """All that could be the component, in order. Code in another language is among them; thoughts are not."""
    return _Reader(reply).read()


_BLANK = re.compile(rf"(?:[\s{INVISIBLE}]*\n)?[{INVISIBLE}]*")
_PATH_COMMENT = re.compile(r"[ \t]*+//[ \t]*+[\w./-]{1,200}+(?<=[jt]s|sx)[ \t\r]*+\n\s*+")


def _candidate(
    text: str, start: int, end: int, place: Place, language: str, closed: bool, fenced: bool
) -> list[Candidate]:
    """The code in text[start:end] without blank lines, and a comment that names its file, around it; [] if none."""
    start = _BLANK.match(text, start, end).end()  # type: ignore[union-attr]  # matches anywhere
    if comment := _PATH_COMMENT.match(text, start, end):
        start = comment.end()
    code = text[start:end].rstrip()
    return [Candidate(code, lambda i: place(start + i), language, closed, fenced)] if code else []


_MARKS = re.compile("[`~<]")  # a line without any of these is neither tag nor fence
_LEAD = rf"[ \t\r{INVISIBLE}]*+"
_THINK = r"(?:think|thinking|thoughts?|reasoning|antthinking)"
_THINK_OPEN = re.compile(rf"{_LEAD}<{_THINK}(?:\s[^<>\n]{{0,100}})?>", re.IGNORECASE)
_THINK_OPEN_LAST = re.compile(rf"<{_THINK}>", re.IGNORECASE)
_THINK_CLOSE = re.compile(rf"</{_THINK}\s{{0,9}}>", re.IGNORECASE)
_THINK_CLOSE_FIRST = re.compile(rf"{_LEAD}</{_THINK}\s{{0,9}}>", re.IGNORECASE)
_WRAPPER = re.compile(rf"{_LEAD}(?:</?{WRAPPER_TAG}(?:\s[^<>\n]{{0,500}})?>|<\|[\w-]{{1,40}}\|>)")
_WRAPPER_LAST = re.compile(rf"</{WRAPPER_TAG}\s{{0,9}}>|<\|[\w-]{{1,40}}\|>|</s>")
_FENCE = re.compile(rf"(?P<lead>{_LEAD}(?:>[ \t]*+|[-*+•][ \t]++|\d{{1,9}}[.)][ \t]++)*+)(?P<run>`{{3,}}+|~{{3,}}+)")
_FENCE_LAST = re.compile(r"(?<!`)(?P<run>`{3,9}+)(?P<info>[\w+#.:/-]{0,40}+)")
_RUN = re.compile(r"[ \t]*+(?P<run>`{3,}+|~{3,}+)")
_QUOTE = re.compile(r"[ \t]{0,3}> ?")


def _last(pattern: re.Pattern[str], text: str, start: int, end: int) -> re.Match[str] | None:
    """A match that ends a line, trailing white space aside; only the line's last characters are looked at."""
    while end > start and text[end - 1] in " \t\r":
        end -= 1
    return next((m for m in pattern.finditer(text, max(start, end - 64), end) if m.end() == end), None)


def _language(info: str) -> str:
    """What an info string says: "tsx" for "TSX:src/App.tsx", "{.tsx}" and "src/App.tsx" alike."""
    word = re.match(r"[\s{.]*+([\w+#./-]*+)", info)[1].lower()  # type: ignore[index]  # matches any string
    return word.rsplit(".", 1)[-1]


def _odd_ticks(text: str, start: int, end: int) -> bool:
    """Whether a line opens or closes a template literal on balance."""
    return bool((text.count("`", start, end) - text.count("\\`", start, end)) % 2)


@dataclass(frozen=True)
class _Fence:
    run: str  # the back-ticks or tildes
    quotes: int  # `>` before them
    indent: int  # other characters before them, list markers among these
    language: str


class _Reader:
    """One pass over a text. `segment` is where the prose being read begins; unfenced code is found when it ends."""

    def __init__(self, text: str, nested: bool = False) -> None:
        self.text = text
        self.nested = nested  # the text is a JSON string's, and is not looked at as JSON again
        self.found: list[Candidate] = []
        self.position = self.segment = 0
        self.line_end = -1  # where the line of `position` ends, if it isn't before that
        self.running = False  # unfenced code has begun ...
        self.template = -1  # ... and is, from this line on, inside a template literal, where a fence is only text
        self.lookaheads = 4  # how often the end of a literal may still be searched to the end of the reply in vain

    def read(self) -> list[Candidate]:
        stop = len(self.text)
        while self.position < stop or self._template_never_ended():
            if self.line_end < self.position:
                self.line_end = self.text.find("\n", self.position)
                self.line_end = stop if self.line_end < 0 else self.line_end
            plain = self.template >= 0 or not _MARKS.search(self.text, self.position, self.line_end)
            if plain or not (self._tag_first() or self._fence_first() or self._mark_last()):
                self._plain_line()
        self._cut(stop, stop)
        return self.found

    def _plain_line(self) -> None:
        self.running = self.running or bool(CODE_START.match(self.text, self.position))
        inside, at = self.template >= 0, self.position
        self.position = self.line_end + 1
        if not self.running or not self.lookaheads or (inside and _RUN.match(self.text, at, self.line_end)):
            return
        if _odd_ticks(self.text, at, self.line_end):
            self.template = -1 if inside else self.position

    def _template_never_ended(self) -> bool:
        """Go back to where a template literal seemed to begin: the back-tick was a stray one."""
        if self.template < 0:
            return False
        self.position, self.template, self.line_end = self.template, -1, -1
        self.lookaheads -= 1
        return self.position < len(self.text)

    def _cut(self, end: int, resume: int) -> None:
        """The prose ends at `end`; what follows is read anew from `resume`."""
        self.found += self._unfenced(self.segment, end)
        self.position = self.segment = min(resume, len(self.text))
        self.running, self.template = False, -1

    def _forget(self, resume: int) -> None:
        """A thought's end without a beginning (it was in the prompt): all that came before was thought."""
        self.found.clear()
        self.segment = resume
        self._cut(resume, resume)

    def _tag_first(self) -> bool:
        """A tag that begins the line. In running code it must not be indented: JSX may hold an element of any name."""
        text, at, end = self.text, self.position, self.line_end
        if self.running and text[at] in " \t":
            return False
        if tag := _THINK_OPEN.match(text, at, end):
            self._skip_thought(at, tag.end())
        elif tag := _THINK_CLOSE_FIRST.match(text, at, end):
            self._forget(tag.end())
        elif tag := _WRAPPER.match(text, at, end):
            self._cut(at, tag.end())
        return tag is not None

    def _skip_thought(self, begin: int, inside: int) -> None:
        close = _THINK_CLOSE.search(self.text, inside)
        self._cut(begin, close.end() if close else len(self.text))

    def _mark_last(self) -> bool:
        """A tag or a fence that ends the line."""
        text, at, end = self.text, self.position, self.line_end
        running = self.running or bool(CODE_START.match(text, at))
        if tag := _last(_THINK_CLOSE, text, at, end):
            self._forget(tag.end())
        elif not running and (tag := _last(_THINK_OPEN_LAST, text, at, end)):
            self._skip_thought(tag.start(), tag.end())
        elif tag := _last(_WRAPPER_LAST, text, at, end):
            self._cut(tag.start(), tag.end())
        elif (tag := _last(_FENCE_LAST, text, at, end)) and text.count("```", at, end) % 2:
            if running and not tag["info"]:
                self._cut(tag.start(), tag.end())
            else:
                self._cut(tag.start(), end + 1)
                self._block(end + 1, _Fence(tag["run"], 0, 0, _language(tag["info"])))
        else:
            return False
        return True

    def _fence_first(self) -> bool:
        """A line that opens a fence, or closes unfenced code."""
        text, at, end = self.text, self.position, self.line_end
        mark = _FENCE.match(text, at, end)
        if not mark:
            return False
        lead, run, inside = mark["lead"], mark["run"], mark.end()
        info = text[inside : min(end, inside + 500)]
        language = _language(info)
        if self.running and language not in _LANGUAGES:
            self._cut(at, inside)
            return True
        body = end + 1
        first = inside + len(info) - len(info.lstrip()) + (len(language) if language in _LANGUAGES else 0)
        if CODE_START.match(text, first):  # code on the line of the fence
            body, language = first, language if language in _LANGUAGES else ""
        if run[0] == "`" and "`" in info:
            close = text.find(run, inside, end)
            if close < 0:
                return False
            self._cut(at, close + len(run))
            self.found += _candidate(text, min(body, first, close), close, _same, language, True, True)
        elif language in _MARKDOWN:  # the fences inside it are the ones that count
            self._cut(at, end + 1)
        else:
            self._cut(at, body)
            tail = lead[lead.rfind(">") + 2 :] if ">" in lead else lead
            indent = sum(c not in INVISIBLE for c in tail)
            self._block(body, _Fence(run, lead.count(">"), indent, language))
        return True

    def _block(self, body: int, fence: _Fence) -> None:
        """Read a fenced block whose code begins at `body`, up to its closing fence or to whatever ends it."""
        block = _Block(self.text, body, fence, patient=self.lookaheads > 0)
        block.read()
        self.lookaheads -= block.in_vain
        if block.ends_thought:
            self._forget(block.resume)
            return
        self.position = self.segment = min(block.resume, len(self.text))
        source, start, end, place = block.source()
        if not block.closed:
            if tag := _last(_WRAPPER_LAST, source, start, end):
                end = tag.start()
            if code := first_line(CODE_START, source, start, end):
                end, _ = code_end(source, code.start(), end)
        found = _candidate(source, start, end, place, fence.language, block.closed or block.reopened, True)
        if not self.nested:
            found += [c for block in found for c in _json_strings(block)]
        self.found += found

    def _unfenced(self, start: int, end: int) -> list[Candidate]:
        """The code in a stretch of prose: each piece runs from a line that begins like code to where prose begins."""
        text, found = self.text, []
        whole = _candidate(text, start, end, _same, "", True, False)
        if whole and not self.nested and (strings := list(_json_strings(whole[0]))):
            return strings
        code = first_line(CODE_START, text, start, end)
        page = first_line(HTML_PAGE, text, start, code.start() if code else end)
        if page:
            return _candidate(text, page.start(), end, _same, "html", True, False)
        code = code or INLINE_CODE_START.search(text, start, end)
        if not code and (other := first_line(FOREIGN, text, start, end)):
            language = "html" if other[0].lstrip().startswith("<") else "text"
            return _candidate(text, other.start(), end, _same, language, True, False)
        while code:
            stop, closed = code_end(text, code.start(), end)
            found += _candidate(text, code.start(), stop, _same, "", closed, False)
            code = first_line(CODE_START, text, stop, end)
        return found


def _same(index: int) -> int:
    return index


class _Block:
    """The inside of a fence.

    A fence inside a template literal of the code (an odd number of back-ticks so far) is text of that literal. If the
    literal then never ends, the back-tick was a stray one and the first fence met was the closing one after all.
    """

    def __init__(self, text: str, body: int, fence: _Fence, patient: bool) -> None:
        self.text, self.fence, self.patient = text, fence, patient
        self.body = self.end = self.resume = min(body, len(text))
        self.quotes = fence.quotes
        self.pieces: list[tuple[int, int]] = []
        self.closed = self.reopened = self.ends_thought = self.in_vain = False

    def read(self) -> None:
        text, run = self.text, self.fence.run
        position, nesting, odd, thoughts = self.body, 0, False, 0
        stray: tuple[int, int, int] | None = None
        while position < len(text):
            line_end = text.find("\n", position)
            line_end = len(text) if line_end < 0 else line_end
            content = self._content(position, line_end)
            if content is None:  # the block quote is over
                return self._close(position, position)
            mark = _RUN.match(text, content, line_end)
            if mark and mark["run"].startswith(run):
                opens = _language(text[mark.end() : min(line_end, mark.end() + 80)]) in _LANGUAGES
                if opens and not odd:
                    self.reopened = True
                    break
                if opens:
                    nesting += 1
                elif nesting:
                    nesting -= 1
                elif not odd or not self.patient:
                    return self._close(position, mark.end())
                else:
                    stray = stray or (position, mark.end(), len(self.pieces))
            elif mark := None if odd else self._closing_tail(position, line_end):
                self._keep(content, mark.start())
                return self._close(mark.start(), mark.end())
            else:
                odd ^= _odd_ticks(text, content, line_end)
                thoughts += bool(_THINK_OPEN.match(text, content, line_end))
                if tag := _THINK_CLOSE_FIRST.match(text, content, line_end):
                    thoughts -= 1
                    if thoughts < 0 and not text[tag.end() : line_end].strip():
                        self.ends_thought, self.resume = True, tag.end()
                        return None
            self._keep(content, min(line_end + 1, len(text)))
            position = line_end + 1
        self.end = self.resume = min(position, len(text))
        if stray:
            self.in_vain, self.reopened = True, False
            end, resume, pieces = stray
            del self.pieces[pieces:]
            self._close(end, resume)
        return None

    def _keep(self, start: int, end: int) -> None:
        if self.fence.quotes or self.fence.indent:
            self.pieces.append((start, end))

    def _close(self, end: int, resume: int) -> None:
        self.closed, self.end, self.resume = True, end, resume

    def _closing_tail(self, start: int, end: int) -> re.Match[str] | None:
        ticks = self.fence.run[0] == "`" and self.text.rfind("```", start, end) >= 0
        mark = _last(_FENCE_LAST, self.text, start, end) if ticks else None
        return mark if mark and not mark["info"] and len(mark["run"]) >= len(self.fence.run) else None

    def _content(self, start: int, end: int) -> int | None:
        """Where a line's code begins, behind the quote marks and the indent that the fence has, too."""
        if not (self.quotes or self.fence.indent):
            return start
        text, at = self.text, start
        for _ in range(self.quotes):
            mark = _QUOTE.match(text, at, end)
            if not mark:
                if at == start and text[start:end].strip() and start != self.body:
                    return None
                self.quotes = 0 if start == self.body else self.quotes
                break
            at = mark.end()
        limit = min(end, at + self.fence.indent)
        while at < limit and text[at] in " \t":
            at += 1
        return at

    def source(self) -> tuple[str, int, int, Place]:
        """The block's text, the range of the code in it, and where it stands in the reply."""
        if not self.pieces:
            return self.text, self.body, self.end, _same
        ends, starts = [0], [start for start, _ in self.pieces]
        for start, end in self.pieces:
            ends.append(ends[-1] + end - start)
        joined = "".join(self.text[start:end] for start, end in self.pieces)
        return joined, 0, len(joined), _stepwise(ends[:-1], starts)


def _stepwise(indices: Sequence[int], offsets: Sequence[int]) -> Place:
    """A place that moves in step with the index from each of `indices` (sorted, the first one 0) on."""

    def place(index: int) -> int:
        step = bisect_right(indices, index) - 1
        return offsets[step] + index - indices[step]

    return place


_JSON_HEAD = re.compile(r"[{\[][\s{\[]*+\"")
_JSON_STRING = re.compile(r'"((?:[^"\\]|\\.)*+)(?:(")|\\?\Z)', re.DOTALL)
_JSON_ESCAPE = re.compile(
    r"\\(?:u([dD][89abAB][\da-fA-F]{2})\\u([dD][c-fC-F][\da-fA-F]{2})|u([\da-fA-F]{4})|(.))", re.DOTALL
)
_JSON_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


def _json_strings(source: Candidate) -> Iterator[Candidate]:
    """What could be the component in the strings of a JSON object or array, whole or cut off."""
    text = source.code
    if not _JSON_HEAD.match(text):
        return
    for string in _JSON_STRING.finditer(text):
        if len(string[1]) < 20:
            continue
        decoded, place = _json_decode(text, string.start(1), string.end(1))
        for inner in _Reader(decoded, nested=True).read():
            outer = _chain(source.place, place, inner.place)
            yield replace(inner, place=outer, closed=inner.closed and bool(string[2]) and source.closed)


def _chain(outer: Place, middle: Place, inner: Place) -> Place:
    return lambda index: outer(middle(inner(index)))


def _json_decode(text: str, start: int, end: int) -> tuple[str, Place]:
    parts: list[str] = []
    indices, offsets, length, at = [0], [start], 0, start
    for escape in _JSON_ESCAPE.finditer(text, start, end):
        high, low, code, letter = escape.groups()
        if high:
            char = chr(0x10000 + ((int(high, 16) - 0xD800) << 10) + int(low, 16) - 0xDC00)
        else:
            char = chr(int(code, 16)) if code else _JSON_LETTERS.get(letter, letter)
        parts += (text[at : escape.start()], char)
        length += escape.start() - at
        at = escape.end()
        indices += (length, length + 1)
        offsets += (escape.start(), at)
        length += 1
    parts.append(text[at:end])
    return "".join(parts), _stepwise(indices, offsets)
