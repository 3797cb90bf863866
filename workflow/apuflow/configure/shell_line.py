"""The simple command of a shell's line that runs a script: what the shell keeps for itself is left out.

The grammar is that of POSIX (Shell Command Language, 2.3 and 2.10) with bash's ``|&``, ``&>``, ``<<<``,
``<(...)`` and ``$'...'``. Expansions stay as they are written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_CONTROL = re.compile(r"\|\||\|&|&&|;;|[|&;()]|\n(?!\s*-)")
"""A line that begins with an option goes on with the one before: no command begins so."""
_REDIRECTION = re.compile(r"&>>?|<<<|<<-?|<>|<&|>>|>\||>&|<|>")
_PARAMETER = re.compile(r"\$(?:[A-Za-z_]\w*|[0-9@*#?$!-])")
_CLOSING = {"(": ")", "{": "}"}


def command_of(line: str, script: str) -> list[str]:
    """Words of the first simple command that runs a script of this file name.

    Where none does: of the first that runs another script, else of the first with an option, else of the
    first of all. One inside a word is found, too: ``bash -c "..."``, ``sbatch --wrap="..."``, ``out=$(...)``.

    Raises:
        ValueError: a quotation mark or a bracket that is not closed.
    """
    commands = _commands(line.replace("\r\n", "\n"))
    for words in commands:
        if any(word.endswith(script) and not re.search(r"\s", word) for word in words):
            return words
    for word in (word for words in commands for word in words if script in word):
        inner = _inside(word)
        if inner != line and script in inner:
            return command_of(inner, script)
    another = [words for words in commands if any(word.endswith(".py") for word in words)]
    options = [words for words in commands if any(word.startswith("-") for word in words)]
    return next(iter([*another, *options, *commands]), [])


def _inside(word: str) -> str:
    """A word's text; of a substitution what runs in it."""
    match = re.search(r"(?:\$|[<>])\((?P<inner>.*)\)|`(?P<old>.*)`", word, re.S)
    return word if match is None else match["inner"] or match["old"] or ""


def _commands(line: str) -> list[list[str]]:
    commands: list[list[str]] = [[]]
    is_target = False
    for kind, text in _tokens(line):
        if kind == "control":
            commands.append([])
        elif kind == "word" and not is_target:
            commands[-1].append(text)
        is_target = kind == "redirection"
    return [words for words in commands if words]


def _tokens(line: str) -> Iterator[tuple[str, str]]:
    """Words (quotation marks taken off), redirections and control operators, in order."""
    place, word = 0, None
    while place < len(line):
        letter = line[place]
        if letter == "#" and word is None:
            place = (line + "\n").index("\n", place)
            continue
        if line.startswith("\\\n", place):
            place += 2
            continue
        operator = _REDIRECTION.match(line, place) or _CONTROL.match(line, place)
        substitutes = line[place : place + 2] in ("<(", ">(") and word is None
        if (operator is None and letter not in " \t\r\n") or substitutes:
            text, place = _piece(line, place)
            word = text if word is None else word + text
            continue
        redirects = operator is not None and operator.re is _REDIRECTION
        if word is not None and not (redirects and word.isdecimal()):
            yield "word", word
        word = None
        if operator is None:
            place += 1
            continue
        yield ("redirection" if redirects else "control"), operator[0]
        place = operator.end()
    if word is not None:
        yield "word", word


def _piece(line: str, place: int) -> tuple[str, int]:
    """A part of a word from this place on, as it is without quotation marks, and where it ends."""
    letter = line[place]
    if letter == "\\":
        return line[place + 1 : place + 2], place + 2
    if letter == "'" or line.startswith("$'", place):
        begin = line.index("'", place) + 1
        end = _find(line, "'", begin)
        return line[begin:end], end + 1
    if letter == '"':
        return _double_quoted(line, place + 1)
    if letter in "$`<>":
        return _expansion(line, place)
    return letter, place + 1


def _double_quoted(line: str, place: int) -> tuple[str, int]:
    found = ""
    while place < len(line):
        letter = line[place]
        if letter == '"':
            return found, place + 1
        if letter == "\\" and line[place + 1 : place + 2] in ("$", "`", '"', "\\", "\n"):
            found += line[place + 1].replace("\n", "")
            place += 2
        elif letter in "$`":
            text, place = _expansion(line, place)
            found += text
        else:
            found += letter
            place += 1
    raise ValueError("No closing quotation")


def _expansion(line: str, place: int) -> tuple[str, int]:
    """``$name``, ``${...}``, ``$(...)``, ```...```, ``<(...)``: as written."""
    if line[place] == "`":
        end = _find(line, "`", place + 1) + 1
        return line[place:end], end
    opening = line[place + 1 : place + 2]
    if opening not in _CLOSING:
        match = _PARAMETER.match(line, place)
        end = place + 1 if match is None else match.end()
        return line[place:end], end
    end, depth = place + 1, 0
    while end < len(line):
        depth += (line[end] == opening) - (line[end] == _CLOSING[opening])
        end += 1
        if depth == 0:
            return line[place:end], end
    raise ValueError(f"No closing {_CLOSING[opening]}")


def _find(line: str, mark: str, begin: int) -> int:
    end = line.find(mark, begin)
    if end < 0:
        raise ValueError("No closing quotation")
    return end
