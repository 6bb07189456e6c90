"""Assignments of a script: what `x=...`, arrays, `declare` and the variables of loops may have."""

import re
from itertools import islice, product
from typing import Final

from tree_sitter import Node

from sophon.security.commands.evaluation.command_effects import CommandEffects, is_unknown
from sophon.security.commands.evaluation.expansion import Expander
from sophon.security.commands.evaluation.possible_texts import MAX_ALTERNATIVES, NOTHING, Texts
from sophon.security.commands.syntax import node_text


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


_SCRIPTS: Final = frozenset({"BASH_ENV", "PROMPT_COMMAND", "PS4"})
"""Variables whose value a shell runs."""

_PROGRAMS: Final = frozenset(
    {
        *("EDITOR", "VISUAL", "PAGER", "MANPAGER", "BROWSER", "LESSOPEN", "RSYNC_RSH", "SSH_ASKPASS", "GIT_ASKPASS"),
        *("GIT_SSH_COMMAND", "GIT_SSH", "GIT_PAGER", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "GIT_EXTERNAL_DIFF"),
    }
)
"""Variables whose value other programs run; one that is computed names a program."""
