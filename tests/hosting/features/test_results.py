"""Every answer of the API and every acknowledgement is exactly what its type declares."""

from collections import Counter
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

import pytest
from pydantic import TypeAdapter

import sophon_hosting.features
from sophon.messages import Usage
from sophon_hosting.features.sessions.results import message_hit_to_json
from sophon_hosting.features.usage.results import UsageView, usage_to_json
from sophon_hosting.json_text import encode_json
from sophon_hosting.store.message_search.hits import MessageHit
from sophon_hosting.store.message_search.snippets import SnippetPart
from tests.hosting.features.declared_results import (
    find_problems,
    find_result,
    list_declared,
)
from tests.hosting.http.api_shapes.scenario import play

MODULES = [
    import_module(each.name)
    for each in walk_packages(sophon_hosting.features.__path__, "sophon_hosting.features.")
    if each.name.endswith("results")
]
DECLARED: dict[str, Any] = {name: each for module in MODULES for name, each in list_declared(module).items()}


@pytest.mark.parametrize("name", DECLARED)
def test_a_json_schema_with_a_description_can_be_made(name: str) -> None:
    schema = TypeAdapter(DECLARED[name]).json_schema()
    top = schema.get("$defs", {}).get(name, schema)
    assert (top["title"], top["type"]) == (name, "object")
    assert top["description"].endswith((".", "!", "?")), top["description"]


def test_each_name_is_declared_once() -> None:
    names = Counter(name for module in MODULES for name in list_declared(module))
    assert [name for name, count in names.items() if count > 1] == []


async def test_every_answer_is_what_its_type_declares(tmp_path: Path) -> None:
    served = await play(tmp_path)
    answers = served.recorder.answers
    problems = [
        f"{name} :: {problem}" for name, route, body in answers for problem in find_problems(find_result(route), body)
    ]
    assert len(answers) > 100
    assert not problems, "\n".join(problems)


def test_an_undeclared_field_and_a_missing_one_are_found() -> None:
    usage = usage_to_json(Usage(1, 2))
    assert find_problems(UsageView, {**usage, "ok": True}) == []
    assert find_problems(UsageView, {**usage, "new": 1}) == [
        "$: Additional properties are not allowed ('new' was unexpected)"
    ]
    assert find_problems(UsageView, {"input_tokens": "1"})


def test_a_search_hit_whose_text_has_a_lone_surrogate_can_be_sent() -> None:
    hit = MessageHit("s", "t", 1, "assistant", datetime(2026, 1, 1, tzinfo=UTC), [SnippetPart("half a \ud83d", False)])
    assert '"at":"2026-01-01T00:00:00+00:00"' in encode_json(message_hit_to_json(hit))
