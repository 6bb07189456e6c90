"""The recorded answers of the API are those that the OpenAPI document describes: status, content type, error code."""

import json
from typing import Any

import pytest

from sophon_hosting.features.registry import builtin_operations
from sophon_hosting.http.openapi_route import DOCUMENT
from tests.hosting.http.api_shapes.recorder import read_recording

PATHS, COMPONENTS = (json.loads(DOCUMENT.read_text(encoding="utf-8"))[key] for key in ("paths", "components"))

ROUTES = {f"{each.method} {each.path}" for each in builtin_operations().operations if each.path}

RECORDED = {name: row for name, row in read_recording().items() if name.partition(" (")[0] in ROUTES}
"""Answers of operations by the name of the call: `METHOD /path/{of}/route (what is special)`."""


@pytest.mark.parametrize("call", RECORDED)
def test_a_recorded_answer_is_described(call: str) -> None:
    row = RECORDED[call]
    response = find_response(call.partition(" (")[0], row["status"])
    content, media_type = response.get("content", {}), row["type"].partition(";")[0]
    if row["status"] != 304:
        assert media_type in content or "*/*" in content
    if row["status"] >= 400:
        schema = content["application/json"]["schema"]["allOf"][1]
        codes = schema["properties"]["error"]["properties"]["code"]["enum"]
        assert row["body"]["error"]["code"].removeprefix("= ") in codes


def find_response(route: str, status: int) -> dict[str, Any]:
    """Return the response of an operation, looked up if the document refers to it."""
    method, _, path = route.partition(" ")
    responses = PATHS[path][method.lower()]["responses"]
    assert str(status) in responses, f"documented are {', '.join(responses)}"
    found: dict[str, Any] = responses[str(status)]
    reference = found.get("$ref", "").rpartition("/")[2]
    return COMPONENTS["responses"][reference] if reference else found
