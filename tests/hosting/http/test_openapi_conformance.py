"""Requests that schemathesis makes of the OpenAPI document: what a host answers is what the document says."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any, Literal, get_args, get_type_hints

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core import NOT_SET
from schemathesis.core.failures import FailureGroup
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from sophon_hosting.features.registry import builtin_operations
from sophon_hosting.http.openapi_route import DOCUMENT
from sophon_hosting.operations.operation import Operation
from tests.hosting.permissions.survey import Survey, survey_of
from tests.properties import examples

pytestmark = pytest.mark.hypothesis

OFFERED = [each for each in builtin_operations().operations if each.path]

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    negative_data_rejection,
]

Rows = Literal["any", "own", "unknown"]

ROWS: tuple[Rows, ...] = get_args(Rows)
"""Which rows a request names: whatever schemathesis makes up, those of the user, and one that nobody has."""

MAX_WAIT_SECONDS = 20

MAX_LINE_CHARACTERS = 8000
"""A longer request line is answered in plain text, before anybody has read which route it is."""

USERS = ("ada", "olga")
"""A user and an operator, who have rows."""


VALID, INVALID = GenerationMode.POSITIVE, GenerationMode.NEGATIVE

EXAMPLES = {VALID: 6, INVALID: 3}
"""Requests per operation: those that the document allows, and those that it does not."""


@pytest.fixture(scope="module")
async def survey(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Survey]:
    async with survey_of(tmp_path_factory.mktemp("fuzzed"), builtin_operations()) as found:
        yield found


@pytest.fixture(scope="module")
def document() -> Any:
    return schemathesis.openapi.from_dict(json.loads(DOCUMENT.read_text(encoding="utf-8")))


@pytest.mark.parametrize("mode", EXAMPLES, ids=["valid", "invalid"])
@pytest.mark.parametrize("operation", OFFERED, ids=lambda each: each.name)
async def test_an_answer_is_one_that_the_document_describes(
    survey: Survey, document: Any, operation: Operation[Any, Any], mode: GenerationMode
) -> None:
    described = document[operation.path][operation.method.lower()]

    @settings(
        max_examples=examples(EXAMPLES[mode]),
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=described.as_strategy(generation_mode=mode), user=st.sampled_from(USERS), rows=st.sampled_from(ROWS))
    def ask(case: Any, user: str, rows: Rows) -> None:
        if rows != "any":
            own = {field: survey.rows[kind, user] for field, kind in kinds_of_ids(operation).items()}
            named = own if rows == "own" else dict.fromkeys(own, "none")
            name_rows(case, named, in_path_alone=mode is INVALID)
        if isinstance(case.query, dict) and is_wait(case.query.get("wait")):
            case.query["wait"] = 0
        assume(not operation.has_query or len(case.as_curl_command()) < MAX_LINE_CHARACTERS)
        headers = {"Authorization": f"Bearer token-of-{user}"}
        try:
            case.call_and_validate(base_url=survey.served.url, session=client, headers=headers, checks=CHECKS)
        except FailureGroup as group:  # which ends the loop of all tests if it leaves one
            raise AssertionError("\n\n".join([case.as_curl_command(), *map(str, group.exceptions)])) from None

    with requests.Session() as client:
        client.trust_env = False
        await asyncio.to_thread(ask)


ASK_OTHERS = frozenset({"list_offered_models", "save_provider"})
"""Operations whose example goes to a provider in the network."""

WITH_EXAMPLE = [each for each in OFFERED if each.options.example and each.name not in ASK_OTHERS]


@pytest.mark.parametrize("operation", WITH_EXAMPLE, ids=lambda each: each.name)
async def test_the_example_of_an_operation_is_a_request_that_the_host_understands(
    survey: Survey, document: Any, operation: Operation[Any, Any]
) -> None:
    fields = dict(operation.options.example)
    rows = {field: survey.rows[kind, "olga"] for field, kind in kinds_of_ids(operation).items()}
    path = {name: fields.pop(name, rows.get(name, "none")) for name in operation.path_fields}
    case = document[operation.path][operation.method.lower()].Case(
        path_parameters=path,
        query=fields if operation.has_query else {},
        body=NOT_SET if operation.has_query else fields,
    )
    headers = {"Authorization": "Bearer token-of-olga"}
    answer = await asyncio.to_thread(case.call_and_validate, base_url=survey.served.url, headers=headers, checks=CHECKS)
    assert answer.status_code in (200, 201, 202, 404, 409), answer.text


def is_wait(value: object) -> bool:
    """Return whether a value of a query makes the request wait."""
    try:
        return 0 < float(str(value)) <= MAX_WAIT_SECONDS
    except ValueError:
        return False


def kinds_of_ids(operation: Operation[Any, Any]) -> dict[str, str]:
    """Return which fields of a request name rows, by the kind of the row."""
    subject = operation.subject
    kinds = {"session_id": "session", "task_id": "task"} | ({subject.field: subject.kind} if subject else {})
    return {field: kind for field, kind in kinds.items() if field in get_type_hints(operation.request)}


def name_rows(case: Any, ids: Mapping[str, str], *, in_path_alone: bool) -> None:
    """Put the ids of rows into a request, also those that it leaves out: which could make an invalid one valid."""
    in_path = case.path_parameters or {}
    for field, row_id in ids.items():
        place = in_path if field in in_path else case.body if isinstance(case.body, dict) else case.query
        if isinstance(place, dict) and (place is in_path or not in_path_alone):
            place[field] = row_id
