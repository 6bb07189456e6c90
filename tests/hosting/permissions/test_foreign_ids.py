"""Nobody reaches what belongs to another user by naming it: in the path, the query or the body of any operation."""

from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from sophon_hosting.client_api.caller import Caller
from sophon_hosting.features.goals.operations import get_goal
from sophon_hosting.features.registry import builtin_operations
from sophon_hosting.operations.operation import Operation, Subject
from tests.hosting.permissions.foreign_ids import ask, disguise, list_attempts, list_changes, list_foreign_ids, list_own
from tests.hosting.permissions.rows import ROWS, secret_of
from tests.hosting.permissions.survey import Survey


@pytest.fixture(scope="module")
async def own_rows(survey: Survey) -> dict[str, str]:
    """Rows of Bob, by the name of the field that names them."""
    return {f"{kind}_id": await make(survey.served, "bob") for kind, make in ROWS.items()}


async def find_leaks(
    survey: Survey, own_rows: Mapping[str, str], operations: Iterable[Operation[Any, Any]]
) -> list[str]:
    """Return what Bob, naming rows of Ada, is answered otherwise than if they did not exist, or with words of hers."""
    leaks: list[str] = []
    # Deletions come last: until then the attacker's own rows are there.
    for operation in sorted(operations, key=lambda each: each.method == "DELETE"):
        for attempt in list_attempts(operation, own_rows):
            for row_id in list_foreign_ids(survey, "ada", attempt):
                unknown = disguise(row_id)
                expected = await ask(survey, "bob", operation, attempt.with_id(unknown), unknown)
                answer = await ask(survey, "bob", operation, attempt.with_id(row_id), row_id)
                if answer.outcome != expected.outcome or secret_of("ada") in answer.text.lower():
                    leaks.append(f"{operation}.{attempt.field}={row_id!r}: {answer.text} / {expected.text}")
    return leaks


async def test_another_users_id_is_answered_like_one_that_does_not_exist(
    survey: Survey, own_rows: Mapping[str, str]
) -> None:
    before = await list_own(survey, "ada")
    leaks = await find_leaks(survey, own_rows, builtin_operations().operations)
    assert not leaks, "\n".join(leaks)
    changes = list_changes(before, await list_own(survey, "ada"))
    assert not changes, "\n".join(changes)


async def test_an_operation_that_forgets_whose_row_it_is_is_found(
    survey: Survey, own_rows: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def locate(subject: Subject[Any], caller: Caller, row_id: str) -> tuple[Caller, Any]:
        return caller, await subject.find(caller, row_id)

    monkeypatch.setattr(Subject, "locate", locate)
    (leak,) = [each for each in await find_leaks(survey, own_rows, [get_goal]) if survey.rows["goal", "ada"] in each]
    assert secret_of("ada") in leak
