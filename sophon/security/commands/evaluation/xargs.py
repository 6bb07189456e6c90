"""Commands that `xargs` and `parallel` make of their input."""

import posixpath
import re
from collections.abc import Iterator, Sequence
from typing import Final

from sophon.security.commands.evaluation.possible_texts import MAX_ALTERNATIVES, Texts, is_unresolved
from sophon.security.commands.programs import skip_wrappers
from sophon.security.commands.syntax import SimpleCommand, Word


def find_xargs(command: SimpleCommand) -> tuple[Word, ...] | None:
    """Return the words from `xargs` or `parallel` on, without `sudo` and the like in front of it; None without it."""
    words = skip_wrappers(command.words, until=XARGS)
    return words if words and posixpath.basename(words[0].text) in XARGS else None


def build_xargs_commands(words: Sequence[Word], stdin: Texts) -> Iterator[SimpleCommand]:
    """Yield the commands. Where the input is not known, it may be any word."""
    rest, mark, has_file = _skip_options(words[1:])
    if has_file:
        stdin = None
    if posixpath.basename(words[0].text) == "parallel":
        mark = mark or "{}"
        rest, stdin = _read_parallel(rest, mark, stdin)
    if not rest:
        return
    for row in _list_rows(stdin, has_mark=bool(mark)):
        if mark:
            yield SimpleCommand(tuple(_fill(word, mark, row) for word in rest))
        else:
            more = [_ANYTHING] if row is None else [Word(each) for each in row.replace("\0", " ").split()]
            yield SimpleCommand((*rest, *more))


def _skip_options(words: Sequence[Word]) -> tuple[list[Word], str, bool]:
    """Return the words of the command, the mark for a row, and whether the rows are those of a file."""
    rest, mark, has_file = list(words), "", False
    while rest and rest[0].text.startswith("-"):
        option = rest.pop(0).text
        if found := re.fullmatch(r"-I(.*)|--replace=(.+)|-i(.*)", option):
            mark = found[1] or found[2] or found[3] or (rest.pop(0).text if option == "-I" and rest else "{}")
            continue
        has_file = has_file or re.match(r"-a|--arg-?file", option) is not None
        if option in _WITH_VALUE and rest:
            rest.pop(0)
    return rest, mark, has_file


def _read_parallel(rest: list[Word], mark: str, stdin: Texts) -> tuple[list[Word], Texts]:
    """Return the words of the command of `parallel`, with the mark, and its rows."""
    texts = [each.text for each in rest]
    if "::::" in texts:
        stdin, rest = None, rest[: texts.index("::::")]
    elif ":::" in texts:
        stdin, rest = ("\n".join(texts[texts.index(":::") + 1 :]),), rest[: texts.index(":::")]
    rest = rest or [Word("sh"), Word("-c")]
    return rest if any(mark in word.text for word in rest) else [*rest, Word(mark)], stdin


def _list_rows(stdin: Texts, *, has_mark: bool) -> list[str | None]:
    if not stdin or is_unresolved(stdin):
        return [None]
    rows: list[str | None] = [line for text in stdin for line in (text.splitlines() if has_mark else [text])]
    return rows if len(rows) <= MAX_ALTERNATIVES else [*rows[:MAX_ALTERNATIVES], None]


def _fill(word: Word, mark: str, row: str | None) -> Word:
    if mark not in word.text:
        return word
    if row is None:
        return Word(word.text.replace(mark, "$INPUT"), True, mark in word.text.rpartition("/")[2])
    return Word(word.text.replace(mark, row), word.is_dynamic)


XARGS: Final = frozenset({"xargs", "parallel"})
_WITH_VALUE: Final = frozenset({"-n", "-L", "-P", "-d", "-s", "-a", "--arg-file", "-E", "-j"})
_ANYTHING: Final = Word('"$INPUT"', is_dynamic=True, is_hidden=True)
