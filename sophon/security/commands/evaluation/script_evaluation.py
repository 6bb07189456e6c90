"""Evaluation of a script without running it: its commands with expanded words, and the texts that it gives to shells.

It follows texts through variables, substitutions, pipes and files, as far as only `echo`, `base64 -d` and the like make
them. Where a program or a script stays unknown that nobody can read in the command, the evaluation says so.
"""

import posixpath
import re
from itertools import islice, product
from typing import Final

from tree_sitter import Node

from sophon.security.commands.evaluation.command_effects import CommandEffects, is_unknown
from sophon.security.commands.evaluation.expansion import MARKS, Expander
from sophon.security.commands.evaluation.possible_texts import (
    FILE,
    MAX_ALTERNATIVES,
    NOTHING,
    Texts,
    concatenate,
    is_unresolved,
    unite,
)
from sophon.security.commands.evaluation.variables import Variables
from sophon.security.commands.syntax import (
    MAX_DEPTH,
    SimpleCommand,
    SyntaxProblem,
    Word,
    node_text,
    parse_script,
    read_command,
)

MAX_COMMANDS: Final = 1000
"""Commands of one script that are looked at, each combination of its words' values counted."""

_SCRIPTS: Final = frozenset({"BASH_ENV", "PROMPT_COMMAND", "PS4"})
"""Variables whose value a shell runs."""

_PROGRAMS: Final = frozenset(
    {
        *("EDITOR", "VISUAL", "PAGER", "MANPAGER", "BROWSER", "LESSOPEN", "RSYNC_RSH", "SSH_ASKPASS", "GIT_ASKPASS"),
        *("GIT_SSH_COMMAND", "GIT_SSH", "GIT_PAGER", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "GIT_EXTERNAL_DIFF"),
    }
)
"""Variables whose value other programs run; one that is computed names a program."""


def may_hide(script: str) -> bool:
    """Return whether a script has anything that the evaluation would change: most have not."""
    return _HIDING.search(script) is not None


_HIDING: Final = re.compile(r"[$`{}|<>\\*?\[;&\n'\"]|\b(?:xargs|parallel|eval|source|ssh|watch)\b|-\w*[cer]\b")


def evaluate_script(script: str, variables: Variables) -> CommandEffects:
    """Return the effects of a script; `variables` gets what it assigns. What is not read to its end is hidden."""
    effects = CommandEffects(variables)
    evaluator = _Evaluator(effects)
    if MARKS.search(script):
        effects.is_hidden = True
        return effects
    try:
        root = parse_script(script)
        evaluator.run(root, NOTHING)
        evaluator.run_rest(root)
    except (SyntaxProblem, RecursionError):
        effects.is_hidden = True
    return effects


class _Evaluator:
    """Walks the tree of one script in its order."""

    def __init__(self, effects: CommandEffects) -> None:
        self._effects = effects
        self._expander = Expander(effects.variables, self._substitute)
        self._assignments = AssignmentReader(effects, self._expander)
        self._seen: set[int] = set()
        self._depth = 0

    def run(self, node: Node, stdin: Texts) -> Texts:
        """Read a statement, and return what it may write."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise SyntaxProblem("the command is nested too deeply")
        try:
            return self._run(node, stdin)
        finally:
            self._depth -= 1

    def run_rest(self, node: Node, depth: int = 0) -> None:
        """Read the commands that are part of no statement, such as those in a test."""
        if depth > MAX_DEPTH:
            raise SyntaxProblem("the command is nested too deeply")
        if node.type == "command" and node.id not in self._seen:
            self.run(node, None)
        for child in node.children:
            self.run_rest(child, depth + 1)

    def _run(self, node: Node, stdin: Texts) -> Texts:
        kind = node.type
        if kind == "command":
            return self._run_command(node, stdin)
        if kind == "pipeline":
            return self._run_pipeline(node, stdin)
        if kind == "redirected_statement":
            return self._run_redirected(node, stdin)
        if kind == "variable_assignment":
            return self._assignments.read_assignment(node)
        if kind == "declaration_command":
            return self._assignments.read_declaration(node)
        if kind == "for_statement":
            self._assignments.read_loop(node)
        elif kind == "function_definition":
            self._effects.functions.add(node_text(node.children[0] if node.children[0].is_named else node.children[1]))
            self._run_children(node, None)
            return NOTHING
        found = self._run_children(node, stdin)
        return concatenate(found) if kind in _SEQUENCES else (None if found else NOTHING)

    def _run_children(self, node: Node, stdin: Texts) -> list[Texts]:
        return [self.run(child, stdin) for child in node.children if child.is_named and child.type not in _WORDS]

    def _run_pipeline(self, node: Node, stdin: Texts) -> Texts:
        for child in node.children:
            if child.is_named:
                stdin = self.run(child, stdin)
        return stdin

    def _run_redirected(self, node: Node, stdin: Texts) -> Texts:
        body = node.child_by_field_name("body")
        after: Node | None = None
        for child in node.children:
            if child.type == "heredoc_redirect":
                stdin = self._read_document(child)
                after = next((each for each in child.children if each.type == "pipeline"), after)
            elif child.type in ("herestring_redirect", "file_redirect"):
                stdin = self._read_input(child, stdin)
        output = self.run(body, stdin) if body is not None else NOTHING
        for child in node.children:
            if child.type == "file_redirect":
                output = self._write_output(child, output)
        return output if after is None else self._run_pipeline(after, output)

    def _read_document(self, node: Node) -> Texts:
        start = next((node_text(child) for child in node.children if child.type == "heredoc_start"), "")
        bodies = [child for child in node.children if child.type == "heredoc_body"]
        if any(mark in start for mark in "'\"\\"):
            return ("".join(map(node_text, bodies)),)
        for body in bodies:  # what is between backticks has no nodes
            self._effects.scripts.update(dict.fromkeys(re.findall(r"`([^`]*)`", node_text(body))))
        return concatenate([self._expander.read_document(body) for body in bodies]) if bodies else NOTHING

    def _read_input(self, node: Node, stdin: Texts) -> Texts:
        """Return the input of a statement after a redirection."""
        if node.type == "herestring_redirect":
            texts = [self._expander.read_value(child) for child in node.named_children]
            return texts[0] and tuple(f"{each}\n" for each in texts[0]) if texts else None
        operator = next((child.type for child in node.children if not child.is_named), ">")
        if operator != "<":
            return None if operator == "<&" else stdin
        for target in node.children_by_field_name("destination"):
            if target.type == "process_substitution":
                return self._substitute(target)
            return self._effects.files.get(node_text(target), FILE)
        return stdin

    def _write_output(self, node: Node, output: Texts) -> Texts:
        """Note what a redirection writes into a file, and return what is left of the output."""
        operator = next((child.type for child in node.children if not child.is_named), ">")
        descriptor = node.child_by_field_name("descriptor")
        if operator.startswith("<") or operator == ">&" or (descriptor is not None and node_text(descriptor) != "1"):
            return output
        for target in node.children_by_field_name("destination"):
            if target.type == "process_substitution":
                self._run_children(target, output)
                self._seen.update(each.id for each in target.children)
                continue
            for fields in self._expander.expand(target):
                for field in fields:
                    self._effects.note_file(field.text, output, appends=operator.endswith(">>"))
        return NOTHING

    def _run_command(self, node: Node, stdin: Texts) -> Texts:
        self._seen.add(node.id)
        parts: list[list[list[Word]]] = []
        end, plain = -1, read_command(node)
        outputs: list[Node] = []
        for child in node.children:
            if child.type == "variable_assignment":
                self._assignments.read_assignment(child)
            elif child.type == "herestring_redirect":
                stdin = self._read_input(child, stdin)
            elif child.type == "file_redirect":
                stdin = self._read_input(child, stdin)
                outputs.append(child)
            elif child.is_named:
                word = child.children[0] if child.type == "command_name" and child.children else child
                fields = self._expander.expand(word)
                if child.start_byte == end:  # the grammar cuts some words that no white space divides
                    fields = [_join(first, second) for first in parts.pop() for second in fields]
                parts.append(fields[: MAX_ALTERNATIVES + 1])
                end = child.end_byte
        found = list(islice(product(*parts), MAX_ALTERNATIVES + 1))
        if len(found) > MAX_ALTERNATIVES or len(self._effects.commands) > MAX_COMMANDS:
            self._effects.is_hidden = True
        written: list[Texts] = []
        for alternative in found[:MAX_ALTERNATIVES]:
            words = tuple(word for each in alternative for word in each)
            command = SimpleCommand(words, plain.assignments, plain.redirections, plain.inputs)
            written.append(self._effects.note(command, stdin))
        output = unite(written) if written else NOTHING
        for child in outputs:
            output = self._write_output(child, output)
        return output

    def _substitute(self, node: Node) -> Texts:
        """Return what the commands in a substitution may write."""
        self._seen.add(node.id)
        children = [child for child in node.children if child.is_named]
        if [child.type for child in children] == ["file_redirect"]:  # $(< file)
            output: Texts = self._read_input(children[0], NOTHING)
            output = None if output == FILE else output
        else:
            # What a program writes into a substitution is not followed.
            stdin = None if node_text(node).startswith(">(") else NOTHING
            output = concatenate([self.run(child, stdin) for child in children])
            output = None if output == FILE or is_unresolved(output) else output
        if node.type == "process_substitution":
            self._effects.files[posixpath.normpath(node_text(node))] = output
        return output


def _join(first: list[Word], second: list[Word]) -> list[Word]:
    """Return the fields of two parts of one word."""
    if not first or not second:
        return first or second
    end, start = first[-1], second[0]
    is_hidden = end.is_hidden or start.is_hidden
    middle = Word(end.text + start.text, end.is_dynamic or start.is_dynamic, is_hidden)
    return [*first[:-1], middle, *second[1:]]


_SEQUENCES: Final = frozenset({"program", "list", "subshell", "compound_statement", "do_group", "negated_command"})

_WORDS: Final = frozenset(
    {
        *("word", "string", "raw_string", "ansi_c_string", "concatenation", "number", "variable_name", "comment"),
        *("simple_expansion", "expansion", "command_substitution", "process_substitution", "brace_expression"),
        *("heredoc_body", "heredoc_start", "heredoc_end", "test_command", "unset_command", "arithmetic_expansion"),
    }
)
"""Nodes that are no statements."""


class AssignmentReader:
    """Reads the nodes of one script that assign variables. They write nothing."""

    def __init__(self, effects: CommandEffects, expander: Expander) -> None:
        self._effects, self._expander, self._variables = effects, expander, effects.variables

    def read_assignment(self, node: Node) -> Texts:
        """Note the value of `name=value`, or of an array."""
        name, value = node.children[0], node.children[-1]
        key, appends = node_text(name), node.children[1].type == "+="
        if value.type == "array":
            elements = product(*(self._expander.expand(child) for child in value.named_children))
            for fields in islice(elements, MAX_ALTERNATIVES):
                words = [word for each in fields for word in each]
                texts = None if any(map(is_unknown, words)) else [word.text for word in words]
                self._variables.add_elements(key, texts, appends=appends)
        elif name.type == "subscript":
            self._variables.add_elements(key.partition("[")[0], self._expander.read_value(value))
        else:
            assigned = NOTHING if value.type in ("=", "+=") else self._expander.read_value(value)
            self._variables.add(key, assigned, appends=appends)
            if key in _SCRIPTS:
                self._effects.is_hidden = self._effects.is_hidden or assigned is None
            if key in _SCRIPTS or key in _PROGRAMS:
                self._effects.scripts.update(dict.fromkeys(assigned or ()))
        return NOTHING

    def read_declaration(self, node: Node) -> Texts:
        """Note what `declare`, `export` and the like assign."""
        if re.search(r"\s-\w*n", node_text(node)):  # a reference: what is assigned to one name is the value of another
            for child in node.named_children:
                self._variables.add(node_text(child).partition("=")[0], None)
        for child in node.named_children:
            if child.type == "variable_assignment":
                self.read_assignment(child)
            elif child.type != "variable_name":
                for fields in self._expander.expand(child):
                    self._effects.assign_words(fields)
        return NOTHING

    def read_loop(self, node: Node) -> None:
        """Note the values of the variable of `for`."""
        name, values = node.child_by_field_name("variable"), node.children_by_field_name("value")
        if name is None:
            return
        if not values:
            self._variables.add(node_text(name), self._variables.get("@"))
        for value in values:
            for fields in self._expander.expand(value):
                for field in fields:
                    self._variables.add(node_text(name), None if is_unknown(field) else (field.text,))
