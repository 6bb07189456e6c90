"""Who may do what: every operation, called as each kind of caller, does what docs/trust-model.md says.

A change that is meant is written by `make generate`, and read by a person.
"""

from copy import copy
from dataclasses import replace
from typing import Any

import pytest

from sophon_hosting.features.registry import builtin_operations
from sophon_hosting.operations import operation as operation_module
from sophon_hosting.operations.operation import Operation
from sophon_hosting.operations.request import Request, RequestShape, request_shape
from tests.hosting.http.api_shapes.features import BINARY
from tests.hosting.permissions.page import PAGE, render_page, render_permissions
from tests.hosting.permissions.survey import ALL_BUT_OPERATOR, Permissions, Survey, list_probes

NO_PERMISSION = {"unauthorized", "forbidden", "level_needed", "scope_needed"}


async def test_every_caller_may_do_what_the_page_says(survey: Survey) -> None:
    page = PAGE.read_text(encoding="utf-8")
    found = render_page(page, await render_permissions(survey, builtin_operations()))
    changed = sorted(set(found.splitlines()) ^ set(page.splitlines()))
    assert found == page, "\n".join([*changed, "if this is meant, run `make generate`"])


async def test_an_operation_that_lost_its_permission_is_told_from_the_true_one(survey: Survey) -> None:
    for operation in (each for each in builtin_operations().operations if each.needs):
        mutant = copy(operation)
        mutant.needs, mutant.options = (), replace(operation.options, needs_for=None)
        assert await find_all(survey, mutant) != await find_all(survey, operation), operation


async def find_all(survey: Survey, operation: Operation[Any, Any], field: str | None = None) -> list[Permissions]:
    """Return the permissions without any field that needs one of its own, and with that field, or with each."""
    fields = request_shape(operation.request).needs if field is None else [field]
    return [await survey.find_permissions(operation, each) for each in ("", *fields)]


class _Anybody(str):
    """Owner who is everybody, as if nobody compared owners."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return True

    def __ne__(self, other: object) -> bool:
        return False

    __hash__ = None  # type: ignore[assignment]  # nobody keeps it


def _own_by_anybody(_: object) -> str:
    return _Anybody()


FOUND_BY_OWNER = {"session"}
"""Rows of whom nobody finds another's: the ids of sessions are names that each user gives (`UserSessions`)."""


async def test_an_operation_that_forgot_whose_row_it_is_is_told_from_the_true_one(survey: Survey) -> None:
    for operation in builtin_operations().operations:
        if operation.subject is not None and operation.subject.kind not in FOUND_BY_OWNER:
            mutant = copy(operation)
            mutant.subject = replace(operation.subject, owner=_own_by_anybody)
            assert await survey.find_permissions(mutant) != await survey.find_permissions(operation), operation


async def test_a_field_that_lost_its_permission_is_told_from_the_true_one(
    survey: Survey, monkeypatch: pytest.MonkeyPatch
) -> None:
    probes = [(operation, field) for _, operation, field in list_probes(builtin_operations()) if field]
    true = [await find_all(survey, *each) for each in probes]

    def shape_without_needs(request: type[Request]) -> RequestShape:
        return replace(request_shape(request), needs={})

    monkeypatch.setattr(operation_module, "request_shape", shape_without_needs)
    for each, expected in zip(probes, true, strict=True):
        assert await find_all(survey, *each) != expected, each


async def test_what_belongs_to_another_user_is_refused_like_what_does_not_exist(survey: Survey) -> None:
    bob = await survey.callers.open("bob")
    for operation in builtin_operations().operations:
        if (subject := operation.subject) is None:
            continue
        foreign_id = survey.rows[subject.kind, "ada"]
        foreign = await survey.find_refusal(operation, bob, {subject.field: foreign_id})
        unknown = await survey.find_refusal(operation, bob, {subject.field: "no-such"})
        assert foreign is not None, operation
        assert unknown is not None, operation
        assert (type(foreign), str(foreign)) == (type(unknown), str(unknown).replace("no-such", foreign_id)), operation


async def test_an_operator_gets_nothing_of_a_conversation_off_the_record(survey: Survey) -> None:
    ada, olga = await survey.callers.open("ada"), await survey.callers.open("olga")
    for operation in builtin_operations().operations:
        if (subject := operation.subject) is not None and subject.kind in ("session", "task"):
            named = {subject.field: survey.rows[f"{subject.kind} off the record", "ada"]}
            assert await survey.find_refusal(operation, olga, named) is not None, operation
            assert await survey.find_refusal(operation, ada, named) is None, operation


async def test_an_operator_whose_token_is_none_of_an_operator_is_a_user(survey: Survey) -> None:
    user, limited = await survey.callers.open("ada"), await survey.callers.open("olga", ALL_BUT_OPERATOR)
    for _, operation, field in list_probes(builtin_operations()):
        for own, other in ((True, "ada"), (False, "zoe")):
            expected = await survey.try_call(operation, user, "ada" if own else other, field)
            found = await survey.try_call(operation, limited, "olga" if own else other, field)
            assert found == {"forbidden": "scope_needed"}.get(expected, expected), (operation, field)


async def test_who_sends_no_token_is_refused_before_anything_else(survey: Survey) -> None:
    for operation in (each for each in builtin_operations().operations if each.path):
        answer = await survey.served.send(f"{operation.method} {operation.path}", user="")
        assert (answer.status_code, answer.json()["error"]["code"]) == (401, "unauthorized"), operation


@pytest.mark.parametrize(
    ("user", "scopes"), [("ada", None), ("bob", None), ("zoe", None), ("olga", None), ("ada", ["Read"]), ("ada", [])]
)
async def test_http_refuses_what_the_operation_refuses(survey: Survey, user: str, scopes: list[str] | None) -> None:
    """Every refusal over HTTP is that of the operation, and what reads is not refused where the operation runs."""
    caller = await survey.callers.open(user, scopes)
    headers = {"Authorization": f"Bearer {await survey.callers.find_token(user, scopes)}"}
    for operation in (each for each in builtin_operations().operations if each.path):
        expected = await survey.try_call(operation, caller, "ada")
        if expected == "yes" and operation.method != "GET":
            continue
        ids = dict.fromkeys(operation.path_fields, "no-such")
        if operation.subject is not None:
            ids[operation.subject.field] = survey.rows[operation.subject.kind, "ada"]
        place = "json" if operation.method in {"POST", "PUT", "PATCH"} else "params"
        known = request_shape(operation.request).model.model_fields
        given = {
            name: value
            for name, value in operation.options.example.items()
            if place == "json" or known[name].is_required()  # others may need a permission of their own
        }
        fields: dict[str, Any] = {place: given, "headers": headers}
        if request_shape(operation.request).upload_field:
            fields = {"content": b"one", "headers": {**headers, **BINARY}}
        answer = await survey.served.send(f"{operation.method} {operation.path.format_map(ids)}", user="", **fields)
        found = None if answer.is_success else answer.json()["error"]["code"]
        assert found == expected if expected != "yes" else found not in NO_PERMISSION, (operation, answer.text)
