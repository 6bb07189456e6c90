"""Reading a plan: tolerant of what stands around it, strict about what is in it."""

import contextlib
import json
import time
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sophon.plans import Plan, PlanStep, parse_plan
from sophon.plans.plan import PlanError
from sophon.tools import Risk
from tests.properties import examples
from tests.tables import table

GOOD: dict[str, Any] = {"goal": "g", "steps": [{"id": "a", "description": "do a"}]}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
FIELDS = ["id", "description", "depends_on", "tool_hints", "estimated_risk", "model_hint"]


def step(step_id: object = "a", **fields: Any) -> dict[str, Any]:
    return {"id": step_id, "description": "do it", **fields}


def problems_of(data: object, **options: Any) -> list[str]:
    with pytest.raises(PlanError) as caught:
        parse_plan(data if isinstance(data, str) else json.dumps(data), plan_id="1", **options)
    return caught.value.problems


def problems_of_steps(*steps: object, **options: Any) -> list[str]:
    return problems_of({"goal": "g", "steps": list(steps)}, **options)


def test_only_the_id_and_the_description_of_a_step_are_needed() -> None:
    assert parse_plan(json.dumps(GOOD), plan_id="7") == Plan("plan_7", "g", (PlanStep("a", "do a"),))
    assert PlanStep("a", "do a").estimated_risk is Risk.LOW


@table(
    "around",
    [
        "{}",
        "Here is the plan:\n```json\n{}\n```\nShall I begin?",
        "```\n{}```",
        'I use {{curly}} braces, {{"a": 1}} and "quotes" first: {} and {{"steps": 1}} last',
        '{{"plan": {}, "note": "n"}}',
        "It's {{ not closed: {}",
        "[{}]",
        '{{"goal": "broken", "steps": [ {}',
    ],
)
def test_text_and_fences_around_the_plan_are_tolerated(around: str) -> None:
    assert parse_plan(around.format(json.dumps(GOOD, indent=2)), plan_id="1").steps[0].id == "a"


def test_braces_and_quotes_inside_texts_do_not_end_the_plan() -> None:
    text = 'say "}" and \\ {"'
    plan = parse_plan(json.dumps({"goal": text, "steps": [step(description=text)]}), plan_id="1")
    assert (plan.goal, plan.steps[0].description) == (text, text)


def test_halves_of_surrogate_pairs_are_replaced_because_no_wire_can_carry_them() -> None:
    lone = step("\ud800", tool_hints=["\ud800"], model_hint="\ud800")
    for text in (
        json.dumps({"goal": "\ud800", "steps": [lone]}),
        '{"goal": "\ud800", "steps": [{"id": 1, "description": "\ud800"}]}',
    ):
        orjson.dumps(parse_plan(text, plan_id="1").to_json())


def test_numbers_as_ids_become_text() -> None:
    plan = parse_plan(json.dumps({"goal": "", "steps": [step(1), step(2, depends_on=[1, "1"])]}), plan_id="1")
    assert [(s.id, s.depends_on) for s in plan.steps] == [("1", ()), ("2", ("1",))]


def test_null_stands_for_a_missing_field() -> None:
    nothing = step(depends_on=None, tool_hints=None, estimated_risk=None, model_hint=None)
    assert parse_plan(json.dumps({"goal": "g", "steps": [nothing]}), plan_id="1").steps == (PlanStep("a", "do it"),)


def test_a_risk_is_read_in_any_case() -> None:
    text = json.dumps({"goal": "g", "steps": [step(estimated_risk=" High")]})
    assert parse_plan(text, plan_id="1").risk is Risk.HIGH


@table(
    ("text", "problem"),
    [
        ("", "there is no JSON object in the answer"),
        ("I would rather not plan.", "there is no JSON object in the answer"),
        ('{"goal": "g", "steps": [', "there is no JSON object in the answer"),
        ("[1, 2]", "the plan must be a JSON object with a goal and steps, not a list"),
        ('["a"]', "the plan must be a JSON object with a goal and steps, not a list"),
        ('"text"', "the plan must be a JSON object with a goal and steps, not a single value"),
        ("17", "the plan must be a JSON object with a goal and steps, not a single value"),
        ("x" * 200_001, "the answer has 200001 characters, and at most 200000 are read"),
        ('{"goal": "g"}', "the plan has no steps"),
        ('{"goal": "g", "steps": []}', "the plan has no steps"),
        ('{"goal": "g", "steps": null}', "the plan has no steps"),
        ('{"goal": "g", "steps": "a, b"}', "steps must be a list, not 'a, b'"),
        (json.dumps({"steps": [step()]}), "the goal is missing"),
        (json.dumps({"goal": 3, "steps": [step()]}), "the goal must be a text, not 3"),
    ],
)
def test_an_answer_without_a_usable_plan_is_named_as_such(text: str, problem: str) -> None:
    assert problems_of(text) == [problem]


@table(
    ("field", "value", "complaint"),
    [
        ("id", "", "id is ''"),
        ("id", None, "id is None"),
        ("id", True, "id is True"),
        ("id", "a/b", "id is 'a/b'"),
        ("id", "x" * 65, "id is 'xxx"),
        ("description", " ", "description is ' '"),
        ("description", 5, "description is 5"),
        ("depends_on", "b", "depends_on is 'b'"),
        ("depends_on", [1.5], "depends_on is [1.5]"),
        ("tool_hints", {"a": 1}, "tool_hints is {'a': 1}"),
        ("tool_hints", [None], "tool_hints is [None]"),
        ("estimated_risk", "deadly", "estimated_risk is 'deadly'; it must be one of none, low, medium, high, critical"),
        ("estimated_risk", 2, "estimated_risk is 2"),
        ("model_hint", ["fast"], "model_hint is ['fast']"),
    ],
)
def test_a_field_of_the_wrong_kind_is_named_with_its_value(field: str, value: object, complaint: str) -> None:
    (problem,) = problems_of_steps({**step(), field: value})
    assert complaint in problem
    assert problem.startswith("step number 1" if field == "id" else "step 'a'")


@table("field", ["id", "description"])
def test_a_field_that_a_step_cannot_lack_is_named(field: str) -> None:
    lacking = {name: value for name, value in step().items() if name != field}
    (problem,) = problems_of_steps(lacking)
    assert f"{field} is missing" in problem


@table(
    ("steps", "problem"),
    [
        ([7], "step number 1 must be an object, not 7"),
        ([step(), step()], "the id 'a' is used by 2 steps"),
        ([step(1), step("1")], "the id '1' is used by 2 steps"),
        ([step(depends_on=["z"])], "step 'a' depends on 'z', which is no step of the plan"),
        ([step(depends_on=["a"])], "step 'a' depends on itself"),
        (
            [step("a", depends_on=["c"]), step("b", depends_on=["a"]), step("c", depends_on=["b"])],
            "the steps depend on each other in a cycle: a -> b -> c -> a",
        ),
        (
            [step("in"), step("b", depends_on=["c", "in"]), step("c", depends_on=["b"]), step("d", depends_on=["c"])],
            "the steps depend on each other in a cycle: b -> c -> b",
        ),
    ],
)
def test_a_plan_whose_steps_do_not_fit_together_is_refused(steps: list[object], problem: str) -> None:
    assert problems_of_steps(*steps) == [problem]


def test_every_circle_is_named() -> None:
    pairs = [("a", "b"), ("b", "a"), ("c", "d"), ("d", "c")]
    circles = problems_of_steps(*(step(one, depends_on=[other]) for one, other in pairs))
    assert [circle.rpartition(": ")[2] for circle in circles] == ["a -> b -> a", "c -> d -> c"]


def test_more_steps_than_allowed_are_refused_and_exactly_as_many_are_not() -> None:
    text = json.dumps({"goal": "g", "steps": [step(n) for n in range(21)]})
    assert problems_of(text) == ["the plan has 21 steps, and at most 20 are allowed"]
    assert len(parse_plan(text, plan_id="1", max_steps=21).steps) == 21


def test_an_unknown_tool_is_refused_with_the_near_names() -> None:
    hinted = step(tool_hints=["memory.serch", "datetime.now", "zzz"])
    near, far = problems_of_steps(hinted, tools=["memory.search", "datetime.now"])
    assert near == "step 'a': there is no tool 'memory.serch'; did you mean 'memory.search'?"
    assert far == "step 'a': there is no tool 'zzz'"


def test_without_a_list_of_tools_every_hint_passes() -> None:
    text = json.dumps({"goal": "g", "steps": [step(tool_hints=["anything"])]})
    assert parse_plan(text, plan_id="1").steps[0].tool_hints == ("anything",)


def test_all_problems_are_told_at_once() -> None:
    steps = [step("a", depends_on=["b", "z"], estimated_risk="?"), step("b", depends_on=["a"], tool_hints=["x"]), {}]
    problems = problems_of({"steps": steps}, tools=[], max_steps=2)
    assert len(problems) == 8


@given(st.from_type(Plan))
def test_any_plan_written_as_json_is_read_back(plan: Plan) -> None:
    text = json.dumps(plan.to_json())
    assert parse_plan(f"Sure:\n```json\n{text}\n```", plan_id="1") == plan
    assert Plan.from_json(json.loads(text)) == plan


@settings(max_examples=examples(15))  # the documents are large
@given(JSON | st.fixed_dictionaries({"goal": JSON, "steps": st.lists(st.dictionaries(st.sampled_from(FIELDS), JSON))}))
def test_strange_json_is_a_plan_or_a_plan_error(data: object) -> None:
    with contextlib.suppress(PlanError):
        plan = parse_plan(json.dumps(data), plan_id="1", tools=["t"])
        json.dumps(plan.to_json(), ensure_ascii=False).encode()


@given(
    st.text() | st.lists(st.sampled_from(['{"', '"', "{", "}", "[", "]", ":", ",", "\\", "steps", "1"])).map("".join)
)
def test_strange_text_is_a_plan_error(text: str) -> None:
    with contextlib.suppress(PlanError):
        parse_plan(text, plan_id="1")


@table(
    "text",
    [
        "{" * 200_000,
        '{"a":' * 40_000,
        '{"steps":[' * 20_000,
        '{"steps":' + "[" * 150_000,
        '{"a":' * 800 + "[" + "1," * 97_000,
        '{"steps":[' + "{}," * 60_000 + "{}]}",
        '{"goal":' + "9" * 150_000 + "}",
        '{"goal":"g","steps":[{"id":"a","tool_hints":[' + ",".join(f'"tool{n}"' for n in range(15_000)) + "]}]}",
        json.dumps({"steps": [{"id": n, "depends_on": [(n + 1) % 5000]} for n in range(5000)]}),
        json.dumps({"steps": [{"id": n, "depends_on": list(range(200))} for n in range(200)]}),
        "\\" * 200_000,
        '{ "' + " " * 190_000,
    ],
)
def test_hostile_text_is_refused_in_bounded_time(text: str) -> None:
    began = time.process_time()
    assert problems_of(text, tools=[f"tool.{n}" for n in range(100)])
    assert time.process_time() - began < 5
