"""A copy of a request, a reply and a response has every field, and only the named ones differ."""

from dataclasses import fields, make_dataclass, replace
from typing import Any

import pytest

from sophon.messages import Message, Response, ToolCall, Usage
from sophon.models.model import NO_MODEL, AttemptOutput, ModelRequest, ModelResponse
from tests.tables import table

REQUEST = ModelRequest(
    [Message("user", "hello")], (), NO_MODEL, "step", 7, "none", 0.5, print, "key", 12, print, AttemptOutput(), 99
)
REPLY = ModelResponse("text", [ToolCall("c", "look")], Usage(1, 2), "length", NO_MODEL, "thought", {"f": 1})
RESPONSE = Response("text", "length", Usage(1, 2), [ToolCall("c", "look")], {"reason": "x"}, ["before"])


@table("original", [REQUEST, REPLY, RESPONSE])
def test_a_copy_differs_in_the_named_field_alone(original: Any) -> None:
    names = [each.name for each in fields(original)]
    for name in names:
        copy = original.copy_with(**{name: "changed"})
        assert copy is not original
        assert [getattr(copy, each) for each in names] == [
            "changed" if each == name else getattr(original, each) for each in names
        ]
    assert original == replace(original)


@table("original", [REQUEST, REPLY, RESPONSE])
def test_a_copy_knows_no_other_field(original: Any) -> None:
    with pytest.raises(AttributeError):
        original.copy_with(colour="red")


@table("original", [REQUEST, REPLY, RESPONSE])
def test_a_copy_of_a_subclass_keeps_its_class_and_its_fields(original: Any) -> None:
    kind: Any = original.__class__
    extended: Any = make_dataclass("Extended", [("extra", str, "")], bases=(kind,))
    values = {each.name: getattr(original, each.name) for each in fields(original)}
    copy = extended(**values, extra="more").copy_with(**{fields(original)[0].name: "changed"})
    assert type(copy) is extended
    assert copy.extra == "more"
