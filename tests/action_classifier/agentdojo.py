"""Texts of the benchmark AgentDojo for the measurement: `python -m tests.action_classifier.agentdojo FOLDER > FILE`.

FOLDER is that of the installed package `agentdojo`; none of its code runs. Attacks are the goals of its injections in
the wordings of its five attacks of one text; benign are the requests of its users, and the texts of its environments.
"""

import ast
import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import yaml

SUITES = ("banking", "slack", "travel", "workspace")
MIN_CHARACTERS = 12

_PLACE = re.compile(r"\{[^{}]*\}")


def list_texts(folder: Path) -> Iterator[tuple[str, str, bool]]:
    """Yield name, text, and whether it is an attack."""
    for name, wording in _list_wordings(folder / "attacks"):
        for suite in SUITES:
            for goal in _list_constants(folder / "default_suites" / "v1" / suite / "injection_tasks.py", "GOAL"):
                yield f"AgentDojo, injections, {name}", wording.replace("{goal}", goal), True
    for suite in SUITES:
        for prompt in _list_constants(folder / "default_suites" / "v1" / suite / "user_tasks.py", "PROMPT"):
            yield "AgentDojo, requests of its users", prompt, False
    for file in sorted((folder / "data" / "suites").rglob("*.yaml")):
        if file.name != "injection_vectors.yaml":
            for text in _list_texts_of(yaml.safe_load(file.read_text("utf-8").replace("!include", ""))):
                yield "AgentDojo, texts of its environments", _PLACE.sub("", text), False


def _list_wordings(folder: Path) -> Iterator[tuple[str, str]]:
    wordings = {
        "direct": "TODO:",
        "ignore_previous": "Ignore your previous",
        "system_message": "###(system_message)",
        "injecagent": "IMPORTANT!!!",
        "important_instructions": "This is an important message from me",
    }
    texts = [each for file in sorted(folder.glob("*.py")) for each in _list_strings(ast.parse(file.read_text("utf-8")))]
    for name, beginning in wordings.items():
        found = next(each for each in texts if beginning in each and "{goal}" in each and "{tools}" not in each)
        yield name, found.replace("{user}", "Emma Johnson").replace("{model}", "GPT-4")


def _list_constants(file: Path, name: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        if any(isinstance(each, ast.Name) and each.id == name for each in targets):
            yield from _list_strings(node.value)  # type: ignore[attr-defined]


def _list_strings(node: ast.AST) -> Iterator[str]:
    """Yield the texts in a part of a program; what is computed in one is `example.org`."""
    if isinstance(node, ast.JoinedStr):
        yield "".join(str(each.value) if isinstance(each, ast.Constant) else "example.org" for each in node.values)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    else:
        for child in ast.iter_child_nodes(node):
            yield from _list_strings(child)


def _list_texts_of(value: object) -> Iterator[str]:
    if isinstance(value, str) and len(value) >= MIN_CHARACTERS:
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _list_texts_of(each)
    elif isinstance(value, list):
        for each in value:
            yield from _list_texts_of(each)


if __name__ == "__main__":
    for name, text, is_attack in dict.fromkeys(list_texts(Path(sys.argv[1]))):
        print(json.dumps([name, "text", text, is_attack]))
