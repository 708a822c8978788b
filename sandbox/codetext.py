"""Tell code from prose, line by line, without parsing it: what `extract` knows about how a React component looks.

Nothing here decides whether code is right (the compiler does); it only finds where code begins and ends and which of
several pieces looks most like the component. Every pattern runs in linear time: a repeat is possessive, bounded, or
followed by something that always matches.
"""

from __future__ import annotations

import re

INVISIBLE = "\u200b\u200c\u200d\u2060\ufeff"

# Markup that chat models put around an answer. Lower-case on purpose: <Answer/> is a component, <answer> is not.
WRAPPER_TAG = r"(?:answer|final_answer|response|solution|artifact|antArtifact|boltArtifact|boltAction|react-component)"

_WORD = r"[A-Za-z_$][\w$]*+"
_CODE = rf"""(?:
    import\s++(?:type\s++)?(?:["'{{*]|{_WORD}\s*+(?:,\s*+[{{*]|,?[ \t\r]*+(?:$|\n)|from\s*+(?:["'`]|$|\n)))
  | export\s++(?:default|function|const|let|class|interface|type|enum|async|abstract)\b
  | export\s*+[{{*]
  | (?:async\s++)?function\s*+\*?\s*+{_WORD}\s*+[(<]
  | (?:const|let|var)\s++(?:[\[{{]|{_WORD}\s*+(?:=|:[^\n]*=))
  | class\s++{_WORD}\s*+(?:\{{|<|extends\b)
  | interface\s++{_WORD}[^\n{{]{{0,200}}\{{
  | type\s++{_WORD}\s*+[=<]
  | enum\s++{_WORD}\s*+\{{
  | ["']use\x20(?:client|strict)["']
)"""
CODE_START = re.compile(rf"[ \t{INVISIBLE}]*+{_CODE}", re.VERBOSE)
"""`match` at the start of a line: this line can only be the beginning of a JavaScript module or of a part of one."""

INLINE_CODE_START = re.compile(
    r"""(?<=[\s:.!])(?:import\s++[^\n;"']{1,200}\sfrom\s*+["']|export\s++default\s++(?:function|class)\b|function\s++[A-Z]\w*+\()"""
)
"""`search`: code that begins in the middle of a line; for a text in which no line begins like code."""

HTML_PAGE = re.compile(r"[ \t]*+<(?:!doctype|html|head|body|script|style|template|\?php)\b", re.IGNORECASE)
"""`match` at the start of a line: what follows is a page (or a Vue or Svelte file), scripts included."""

FOREIGN = re.compile(
    r"""[ \t]*+(?:<(?:!doctype|!--|\?|[a-z][\w.-]*+[\s/>])|<>|def\s++\w++\(|class\s++\w++[^\n{]{0,100}:[ \t\r]*+(?:$|\n)
    |from\s++[\w.]++\s++import\s
    |import\s++[\w.]++(?:\s++as\s++\w++)?+[ \t\r]*+(?:$|\n)|print\(|\#include\s|package\s++\w++;)""",
    re.VERBOSE | re.IGNORECASE,
)
"""`match` at the start of a line: code, but not a component (HTML, a bare tag, Python, C, Go ...)."""


def first_line(pattern: re.Pattern[str], text: str, start: int, end: int) -> re.Match[str] | None:
    """The first line of text[start:end] (the text at `start` counts as one) that begins with `pattern`."""
    while start < end:
        if found := pattern.match(text, start, end):
            return found
        start = text.find("\n", start, end) + 1 or end
    return None


_JS_WORDS = (
    "import|export|function|async|const|let|var|class|interface|type|enum|declare|return|new|throw|await|else|case|"
    "typeof|delete|void|abstract|static|if|for|while|do|switch|try|catch|finally|default|yield|namespace"
)
_PROSE = re.compile(
    rf"""(?:
    \#{{1,6}}\s | [-*•]\s++\S | \d{{1,3}}[.)]\s | \*\*\S | >\s | -{{3,}}[ \t\r]*+(?:$|\n) | \|
  | <\| | </s> | </?{WRAPPER_TAG}\b | [^\x00-\x7f]
  | `[^`\n]{{1,80}}`\s++[a-z] | \([A-Z][a-z]++\s++[a-z]
  | (?!(?:{_JS_WORDS})\b)[A-Za-z][\w'’-]*+[,:]?[ \t]++[\w"'`(*]
  | [A-Z][\w'’-]*+[:!.?][ \t\r]*+(?:$|\n)
)""",
    re.VERBOSE,
)

# Every alternative eats what it starts on, up to the end of the line or of the text if it isn't closed.
_TOKEN = re.compile(
    r"""(?P<newline>\n\s*+)
  | (?P<comment>(?<!:)//[^\n]*+ | /\*[^*]*+(?:\*(?!/)[^*]*+)*+(?P<comment_end>\*/)?)
  | (?P<template>`[^`\\]*+(?:\\[\s\S][^`\\]*+)*+(?P<template_end>`)?)
  | (?P<string>(?<!\w)(?:"(?:[^"\\\n]|\\.)*+"?+|'(?:[^'\\\n]|\\.)*+'?+))
  | (?P<regex>(?<=[(,=:!&|?;\[])[ ]?/(?![/*>])(?:[^/\\\n]|\\.)++/?)
  | (?P<open>[(\[{]) | (?P<close>[)\]}]) | \\.""",
    re.VERBOSE,
)
_LAST_LINE = re.compile(r"\};?|\);?|export\s++default\s++[\w$.]++(?:\([\w$., ]*+\))?;?")
_EXPORT_DEFAULT = re.compile(r"export\s++default\b")
_IMPORT = re.compile(r"""import\b[^\n("']*+["']""")
_CLOSING_TAG = re.compile(r"(?:/|</[\w.]{0,60})>$")


def code_end(text: str, start: int, stop: int) -> tuple[int, bool]:
    """Where the code that starts at `start` ends, at most at `stop`, and whether it looks finished.

    Code ends where prose clearly begins: at top level, after a whole statement, a line no further in than the first
    one that reads like a sentence, a heading or a list. A second run of imports after `export default` is a new file,
    so the code ends there too. Finished means that no bracket, comment or template is left open.
    """
    while start < stop and text[start] in " \t" + INVISIBLE:
        start += 1
    indent = column = start - text.rfind("\n", 0, start) - 1
    depth, line_start, exported, unclosed = 0, start, False, False
    comment_end = -1
    for token in _TOKEN.finditer(text, start, stop):
        kind = token.lastgroup
        if kind == "open":
            depth += 1
        elif kind == "close":
            depth -= 1
        elif kind == "comment":
            comment_end = token.end()
            unclosed = token[0].startswith("/*") and not token["comment_end"]
        elif kind == "template":
            unclosed = not token["template_end"]
        elif kind == "newline":
            line = text[line_start : token.start()].rstrip()
            exported = exported or bool(_EXPORT_DEFAULT.match(line))
            at = token.end()
            whole_line = column <= indent and bool(_LAST_LINE.fullmatch(line))
            column = at - text.rfind("\n", 0, at) - 1
            blank = token[0].count("\n") > 1
            over = (whole_line and (blank or line.startswith("export"))) or (
                depth <= 0 and (comment_end == token.start() or _ends_statement(line, blank))
            )
            restarts = depth <= 0 and exported and _IMPORT.match(text, at, stop)
            if restarts or (over and column <= indent and _PROSE.match(text, at, stop)):
                return token.start(), True
            line_start = at
    line = text[line_start:stop].rstrip()
    return stop, not unclosed and (depth <= 0 or (column <= indent and bool(_LAST_LINE.fullmatch(line))))


def _ends_statement(line: str, blank: bool) -> bool:
    """Whether a statement may be over at the end of `line`, a line at top level; `blank`: a blank line follows."""
    if line.endswith(">"):  # perhaps one tag among others: only a blank line makes it the end
        return blank and bool(_CLOSING_TAG.search(line, max(0, len(line) - 64)))
    return line.endswith((";", "}", ")", '"', "'", "`")) or bool(_EXPORT_DEFAULT.match(line))


_DEFAULT = re.compile(r"export\s++default\s++(?:async\s++)?(?:function\b|class\b|\(|[A-Za-z_$])|\bas\s++default\b")
_DEFAULT_FUNCTION = re.compile(r"export\s++default\s++(?:async\s++)?(?:function\b|class\b|\()")
_FUNCTION = re.compile(r"\bfunction\b|=>|\bclass\b|\bmemo\(|\bforwardRef\(")
_CAPITAL = re.compile(
    r"\bfunction\s++[A-Z]\w*+\s*+[(<]|\bclass\s++[A-Z]\w*+\s++extends\b"
    r"|\b(?:const|let|var)\s++[A-Z]\w*+\s*+(?::[^=\n]{0,200})?=\s*+"
    r"(?:async\s++)?(?:function\b|\([^\n]{0,400}=>|\w++\s*+=>|(?:React\.)?(?:memo|forwardRef)\b)"
)
_JSX = re.compile(r"</[A-Za-z>]|/>|(?:\breturn|=>|[(?:&|])\s*+<[A-Za-z>]|\bcreateElement\(")
_RELATIVE_IMPORT = re.compile(r"""\b(?:from|import)\s*+["']\.{1,2}/[^"'\n]{0,300}?(?<!\.css)(?<!\.scss)["']""")


def component_rank(code: str) -> int:
    """How much `code` looks like a React component, from 0 (not at all) to 3.

    3: JSX and a default export; 2: JSX in a function or class; 1: a function or class that could be one, with no JSX
    (yet: it may have been cut off); 0: anything else, HTML and bare JSX included.
    """
    if code.lstrip().startswith("<"):
        return 0
    if _JSX.search(code) and _FUNCTION.search(code):
        return 3 if _DEFAULT.search(code) else 2
    return 1 if _DEFAULT_FUNCTION.search(code) or _CAPITAL.search(code) else 0


def stands_alone(code: str) -> bool:
    """Whether `code` imports no file of its own (style sheets don't count): a usage example imports the component."""
    return not _RELATIVE_IMPORT.search(code)
