"""Templates and filters over the body of a webhook."""

import json
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sophon_hosting.features.webhooks.incoming import (
    MAX_TEXT_CHARACTERS,
    find_value,
    passes_filters,
    render_template,
)

BODY = {"issue": {"title": "It broke", "labels": [{"name": "bug"}], "n": 3}, "open": True, "none": None}


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{{issue.title}}!", "It broke!"),
        ("{{ issue.labels.0.name }}", "bug"),
        ("{{issue.labels.1.name}}{{issue.labels.x}}{{none}}{{no}}", ""),
        ("{{issue.n}} {{open}} {{issue.labels}}", '3 true [{"name": "bug"}]'),
        ("{{}} {{ }} {issue}", "{{}} {{ }} {issue}"),
    ],
)
def test_placeholders_are_paths_of_the_body(template: str, text: str) -> None:
    assert render_template(template, BODY) == text


def test_a_value_is_not_read_as_a_template() -> None:
    assert render_template("{{a}}", {"a": "{{b}}", "b": "no"}) == "{{b}}"


def test_a_long_text_is_cut_with_a_note() -> None:
    text = render_template("", {"a": "x" * (2 * MAX_TEXT_CHARACTERS)})
    assert len(text) < MAX_TEXT_CHARACTERS + 100
    assert text.endswith("[cut: there is more]")


def test_a_body_is_shown_with_a_line_per_item() -> None:
    body = {**BODY, "empty": [{}, []], "text": "é\n"}
    assert render_template("", body) == json.dumps(body, ensure_ascii=False, indent=1)


@pytest.mark.parametrize("depth", [1, 400, 900])
def test_deep_lists_do_not_grow_in_the_text(depth: int) -> None:
    body = json.loads("[" * depth + "1," * 200_000 + "1" + "]" * depth)
    tracemalloc.start()
    try:
        render_template("", body)
        assert tracemalloc.get_traced_memory()[1] < 10_000_000  # with an indentation per level 900 times 200,000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("filters", "passes"),
    [
        ({}, True),
        ({"issue.title": ("it BROKE", "other")}, True),
        ({"issue.title": ("other",)}, False),
        ({"open": ("true",), "issue.n": ("3",)}, True),
        ({"open": ("true",), "issue.n": ("4",)}, False),
        ({"none": ("",)}, False),
        ({"header:X-Event": ("push",)}, True),
        ({"header:X-Other": ("push",)}, False),
    ],
)
def test_every_filter_must_accept_its_value(filters: dict[str, tuple[str, ...]], passes: bool) -> None:
    assert passes_filters(filters, {"X-Event": "Push"}, BODY) is passes


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=10,
)


@given(json_values, st.text(max_size=20))
def test_any_body_and_path_can_be_read(payload: object, path: str) -> None:
    find_value(payload, path)
    render_template("a {{" + path + "}}", payload)
    passes_filters({path: ("x",)}, {}, payload)
