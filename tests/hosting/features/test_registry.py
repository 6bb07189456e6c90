"""The registry of operations: their declarations fit their requests, and nothing else decides who may do what."""

import re
from pathlib import Path

import sophon_hosting.features
from sophon_hosting.features.registry import builtin_operations
from sophon_hosting.operations.request import request_shape

FOLDER = Path(sophon_hosting.features.__file__).parent

CHECK = re.compile(r"\b(require_(operator|scope|level)|rights\.require|Forbidden|check_permission)\(")

OWN_RULES = {
    "learning/trajectory_operations.py": 1,  # what is like a text tells what the texts are, which some see redacted
    "memory/workspace_operations.py": 2,  # the files of everybody; the one whose lines are messages of the user
    "sessions/operations.py": 1,  # which titles of all users a search finds tells them to who sees them redacted
    "tokens/operations.py": 1,  # no API token makes another one
}
"""Rules that no declaration can state, by file: what docs/trust-model.md says below its table of permissions."""


def test_what_an_operation_is_about_is_a_field_that_every_request_has() -> None:
    for operation in builtin_operations().operations:
        fields = request_shape(operation.request).model.model_fields
        assert set(operation.path_fields) <= set(fields), operation
        named = {*operation.path_fields, *([operation.subject.field] if operation.subject else [])}
        assert all(fields[name].is_required() for name in named), operation


def test_everything_is_for_operators_wherever_it_is_asked_for() -> None:
    shapes = [request_shape(each.request) for each in builtin_operations().operations]
    asked = [each for each in shapes if "everything" in each.model.model_fields]
    assert asked
    assert all(each.needs["everything"].permission == "Operator" for each in asked)


def test_permissions_are_declared_and_not_checked_in_operations() -> None:
    found = {
        str(path.relative_to(FOLDER)): len(CHECK.findall(path.read_text(encoding="utf-8")))
        for path in sorted(FOLDER.rglob("*.py"))
        if path.parent.name != "openai_api"  # its routes are no operations
    }
    assert {name: count for name, count in found.items() if count} == OWN_RULES
