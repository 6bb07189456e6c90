"""Syntax of shell commands: every simple command in a script, with its words and redirections, by tree-sitter-bash.

The tree is read, not the text: quotes, escapes, substitutions and nested commands mean what they mean to the shell.
"""

import re
from collections.abc import Iterator
from contextvars import ContextVar
from functools import cache
from time import thread_time
from typing import Final

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

from sophon._python.lazy_dataclass import dataclass

MAX_CHARACTERS: Final = 50_000
"""A longer script is not parsed."""

MAX_SECONDS: Final = 0.25
"""Processor time for one script. `a|a|a|...` and other scripts with errors take the parser quadratic time, and to stop
at their first error helps with few of them; 100,000 characters without errors take 0.1 s.
"""

_PIECE_BYTES: Final = 4096
"""What the parser is given at once."""

MAX_DEPTH: Final = 100
"""A script that is nested more deeply is not read."""

_DYNAMIC: Final = frozenset(
    {"simple_expansion", "expansion", "command_substitution", "process_substitution", "arithmetic_expansion"}
)
"""Parts of a word whose value the shell computes."""


@dataclass(frozen=True, slots=True)
class Word:
    """Word of a command. `text` is its value without quotes; with `is_dynamic` the shell computes parts of it.

    With `is_hidden` it may be the name of any program.
    """

    text: str
    is_dynamic: bool = False
    is_hidden: bool = False


@dataclass(frozen=True, slots=True)
class Redirection:
    """Redirection of a command's input or output. `operator` is as written, such as `>>`."""

    operator: str
    target: Word


@dataclass(frozen=True, slots=True)
class SimpleCommand:
    """Simple command: name and arguments. `assignments` are the variables that are set in front of it, `inputs` the
    texts of its here-documents and here-strings.
    """

    words: tuple[Word, ...]
    assignments: tuple[str, ...] = ()
    redirections: tuple[Redirection, ...] = ()
    inputs: tuple[Word, ...] = ()

    @property
    def name(self) -> str | None:
        """The name of the program, or None if there is none or the shell computes it."""
        return self.words[0].text if self.words and not self.words[0].is_dynamic else None

    @property
    def arguments(self) -> tuple[Word, ...]:
        """The words behind the name."""
        return self.words[1:]


class SyntaxProblem(ValueError):
    """A script that cannot be parsed, or not completely."""


class UnreadScript(SyntaxProblem):
    """A script that a shell may well run, and that is too long, too deep or too much work to be read here."""


def parse_script(script: str) -> Node:
    """Return the root of the syntax tree, to be read before another script is parsed.

    Raises SyntaxProblem, UnreadScript.
    """
    if len(script) > MAX_CHARACTERS:
        raise UnreadScript(f"the command has more than {MAX_CHARACTERS} characters")
    try:
        text = script.encode()
    except UnicodeEncodeError as error:
        raise SyntaxProblem("the command is not valid Unicode") from error
    if b"\0" in text:
        raise SyntaxProblem("the command contains a NUL character")
    # The scanner of the grammar looks up each character in a table of 256 entries: others can crash the process.
    _SOURCE.set(text)
    letters = _NON_ASCII.sub(b"x", text)
    deadline = thread_time() + MAX_SECONDS
    try:
        root = (
            Parser(_language())
            .parse(
                lambda at, _: letters[at : at + _PIECE_BYTES],
                progress_callback=lambda _, __: thread_time() > deadline,
            )
            .root_node
        )
    except ValueError:  # stopped by the callback
        raise UnreadScript("the command takes too long to parse") from None
    if root.has_error:
        raise SyntaxProblem("the command cannot be parsed")
    return root


def find_commands(script: str) -> list[SimpleCommand]:
    """Return all simple commands of a script, those in substitutions, functions and blocks included.

    Raises SyntaxProblem, UnreadScript.
    """
    return list(_walk(parse_script(script), (), 0))


def read_command(
    node: Node, redirections: tuple[Redirection, ...] = (), inputs: tuple[Word, ...] = ()
) -> SimpleCommand:
    """Return the simple command of a node `command`."""
    words: list[Word] = []
    assignments: list[str] = []
    for child in node.children:
        if child.type == "variable_assignment":
            assignments.append(node_text(child))
        elif child.type == "command_name":
            words.append(read_word(child.children[0]) if child.children else Word(node_text(child), is_dynamic=True))
        elif child.type in ("herestring_redirect", "file_redirect", "heredoc_redirect"):
            redirections = (*redirections, *_read_redirection(child))
            inputs = (*inputs, *_read_input(child))
        elif child.is_named:
            words.append(read_word(child))
    return SimpleCommand(tuple(words), tuple(assignments), redirections, inputs)


def read_word(node: Node) -> Word:
    """Return the value of a word without its quotes and escapes."""
    if node.type in ("word", "number", "variable_name", "file_descriptor", "test_operator"):
        text = node_text(node)
        return Word(remove_escapes(text), is_dynamic=text.startswith("~") or any(mark in text for mark in "*?[{"))
    if node.type == "raw_string":
        return Word(node_text(node)[1:-1])
    if node.type == "string":
        return _read_string(node)
    if node.type == "concatenation":
        parts = [read_word(child) for child in node.children]
        text = "".join(part.text for part in parts)
        is_brace = any(child.type == "word" and node_text(child) in ("{", "}") for child in node.children)
        return Word(text, is_dynamic=is_brace or any(part.is_dynamic for part in parts))
    return Word(node_text(node), is_dynamic=True)


def _read_string(node: Node) -> Word:
    text = node_text(node)[1:-1]
    if any(child.type in _DYNAMIC for child in node.children) or "$" in text or "`" in text:
        return Word(text, is_dynamic=True)
    return Word(remove_escapes(text, only='"\\$`\n'))


def remove_escapes(text: str, only: str | None = None) -> str:
    """Return the text without its backslashes; in double quotes only those in front of certain characters vanish."""
    if "\\" not in text:
        return text
    parts: list[str] = []
    position = 0
    while position < len(text):
        if text[position] == "\\" and position + 1 < len(text) and (only is None or text[position + 1] in only):
            position += 1
            if text[position] == "\n":
                position += 1
                continue
        parts.append(text[position])
        position += 1
    return "".join(parts)


def _walk(
    node: Node, redirections: tuple[Redirection, ...], depth: int, inputs: tuple[Word, ...] = ()
) -> Iterator[SimpleCommand]:
    """Yield the commands below a node; `redirections` and `inputs` are those of the statement around it."""
    if depth > MAX_DEPTH:
        raise UnreadScript("the command is nested too deeply")
    inner: tuple[Redirection, ...] = ()
    inner_inputs: tuple[Word, ...] = ()
    if node.type == "redirected_statement":
        found = tuple(each for child in node.children for each in _read_redirection(child))
        texts = tuple(each for child in node.children for each in _read_input(child))
        body = node.child_by_field_name("body")
        if body is not None and body.type == "command":
            inner, inner_inputs = found, texts
        else:  # those of a block are opened before its commands run
            yield SimpleCommand((), (), found, texts)
    elif node.type == "command":
        yield read_command(node, redirections, inputs)
    elif node.type in ("declaration_command", "unset_command", "test_command"):
        name = node.children[0] if node.children else node
        yield SimpleCommand(
            (Word(node_text(name)), *(read_word(each) for each in node.named_children)), (), redirections
        )
    elif node.type == "variable_assignment" and (node.parent is None or node.parent.type != "command"):
        yield SimpleCommand((), (node_text(node),), redirections)
    for child in node.children:
        yield from _walk(child, inner, depth + 1, inner_inputs)


def _read_redirection(node: Node) -> Iterator[Redirection]:
    if node.type == "file_redirect":
        operator = next((child.type for child in node.children if not child.is_named), ">")
        for target in node.children_by_field_name("destination"):
            yield Redirection(operator, read_word(target))
    elif node.type in ("herestring_redirect", "heredoc_redirect"):
        yield Redirection("<<", Word("", is_dynamic=True))
        for child in node.children:
            yield from _read_redirection(child)


def _read_input(node: Node) -> Iterator[Word]:
    """Yield the text of a here-document or here-string. What the shell computes in it is left as it is written."""
    if node.type == "herestring_redirect":
        yield from (read_word(child) for child in node.named_children)
    elif node.type == "heredoc_redirect":
        start = next((node_text(child) for child in node.children if child.type == "heredoc_start"), "")
        is_raw = any(mark in start for mark in "'\"\\")
        for child in node.children:
            if child.type == "heredoc_body":
                text = node_text(child)
                yield Word(text, is_dynamic=not is_raw and any(mark in text for mark in "$`\\"))


_NON_ASCII = re.compile(rb"[\x80-\xff]")
"""Bytes that are parsed as letters, which they are to the shell, too; the offsets stay the same."""

_SOURCE: ContextVar[bytes] = ContextVar("script")
"""The script that was parsed last, in UTF-8."""


def node_text(node: Node, start: int | None = None, end: int | None = None) -> str:
    """Return the text of a node of the script that was parsed last, or that between two offsets in bytes."""
    first, last = node.start_byte if start is None else start, node.end_byte if end is None else end
    return _SOURCE.get()[first:last].decode(errors="replace")


@cache
def _language() -> Language:
    return Language(tree_sitter_bash.language())
