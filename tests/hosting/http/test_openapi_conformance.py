"""Requests that schemathesis makes of the OpenAPI document: what a host answers is what the document says."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.failures import FailureGroup
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from sophon_hosting.features.registry import REGISTRY
from sophon_hosting.http.openapi_route import DOCUMENT
from sophon_hosting.operations.operation import Operation
from tests.hosting.permissions.survey import Survey, survey_of
from tests.properties import examples

pytestmark = pytest.mark.hypothesis

OFFERED = [each for each in REGISTRY.operations if each.path]

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    negative_data_rejection,
]

USERS = ("ada", "olga")
"""A user and an operator, who have rows."""


EXAMPLES = {GenerationMode.POSITIVE: 6, GenerationMode.NEGATIVE: 3}
"""Requests per operation: those that the document allows, and those that it does not."""


@pytest.fixture(scope="module")
async def survey(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Survey]:
    async with survey_of(tmp_path_factory.mktemp("fuzzed"), REGISTRY) as found:
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
    @given(case=described.as_strategy(generation_mode=mode), user=st.sampled_from(USERS), is_row=st.booleans())
    def ask(case: Any, user: str, is_row: bool) -> None:
        if operation.subject is not None and is_row and operation.subject.field in operation.path_fields:
            case.path_parameters[operation.subject.field] = survey.rows[operation.subject.kind, user]
        if isinstance(case.query, dict) and "wait" in case.query and mode is GenerationMode.POSITIVE:
            case.query["wait"] = 0
        headers = {"Authorization": f"Bearer token-of-{user}"}
        try:
            case.call_and_validate(base_url=survey.served.url, session=client, headers=headers, checks=CHECKS)
        except FailureGroup as group:  # which ends the loop of all tests if it leaves one
            raise AssertionError("\n\n".join([case.as_curl_command(), *map(str, group.exceptions)])) from None

    with requests.Session() as client:
        client.trust_env = False
        await asyncio.to_thread(ask)
