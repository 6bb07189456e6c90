"""Placeholders in arguments: what must be found, and what must not, as tables."""

from typing import Any

import pytest

from sophon.plans import parse_plan
from sophon.plans.plan import PlanError
from sophon.tools.placeholder_arguments import find_placeholder_argument
from tests.tables import table


@table(
    "arguments",
    [
        {"title": "TODO"},
        {"title": " tbd "},
        {"to": "<value>"},
        {"to": "<your email>"},
        {"to": "[insert name here]"},
        {"headers": {"key": "your-api-key"}},
        {"key": "YOUR_API_KEY"},
        {"path": "/path/to/report.txt"},
        {"path": "path/to/report.txt"},
        {"to": ["ada@example.com"]},
        {"url": "https://example.org/v1?x=1"},
        {"url": "EXAMPLE.com"},
        {"command": "cp a.txt /path/to/b.txt"},
        {"command": "curl -H 'X-Key: your-api-key' https://sophon.dev"},
        {"command": "scp a <your_host_name>:/tmp"},
    ],
)
def test_a_placeholder_is_found(arguments: dict[str, Any]) -> None:
    assert find_placeholder_argument(arguments, {}) is not None


@table(
    "arguments",
    [
        {"content": "# TODO\n- call <value>, see https://example.com and /path/to/x"},
        {"path": "TODO.md"},
        {"title": "Todo list of the week"},
        {"content": "<br>"},
        {"content": "<h1>"},
        {"url": "https://example.company/"},
        {"url": "https://notexample.com/"},
        {"url": "https://sophon.dev/?next=example.com.sophon.dev"},
        {"path": "paths/to.txt"},
        {"path": "/home/ada/path/notes.txt"},
        {"command": "curl https://example.com/a"},
        {"command": "grep -n TODO src/main.py"},
        {"command": "sort <input.txt >output.txt"},
        {"n": 3, "flag": None},
        {"text": ""},
        {"content": "x" * 3000},
        {"todo": "buy milk"},
    ],
)
def test_what_is_no_placeholder_passes(arguments: dict[str, Any]) -> None:
    assert find_placeholder_argument(arguments, {}) is None


def test_what_a_person_wrote_or_a_schema_lists_is_none() -> None:
    url = {"url": "https://example.com/x"}
    assert find_placeholder_argument(url, {}, named_in=["Post it to Example.com"]) is None
    schema = {"properties": {"state": {"enum": ["todo", "done"]}}}
    assert find_placeholder_argument({"state": "todo"}, schema) is None
    assert find_placeholder_argument({"state": "todo"}, {}) == ("state", "todo")
    assert find_placeholder_argument({"a": {"b": ["ok", "TODO"]}}, {}) == ("a.b.1", "todo")


@table(("risk", "asked", "fails"), [("high", "", True), ("low", "", False), ("high", "a@b.de", True)])
def test_a_plan_with_a_placeholder_is_refused_if_the_step_has_effects(risk: str, asked: str, fails: bool) -> None:
    step = f'{{"id": "1", "description": "Mail it to boss@example.com.", "estimated_risk": "{risk}"}}'
    text = f'{{"goal": "g", "steps": [{step}]}}'
    if fails:
        with pytest.raises(PlanError, match=r"the placeholder 'example\.com'"):
            parse_plan(text, plan_id="1", asked_for=asked)
    else:
        parse_plan(text, plan_id="1", asked_for=asked)
    parse_plan(text, plan_id="1", asked_for="mail it to boss@example.com")
