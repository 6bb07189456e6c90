"""Typed room on a context, and what of it survives a suspend."""

import json

import pytest

from sophon import Services, ToolCall
from sophon.context import Step
from sophon.errors import StateError
from sophon.extensions import Extensions, Key

KEPT: Key[set[str]] = Key("kept", dump=sorted, load=set)
LOST: Key[object] = Key("lost")


def again(extensions: Extensions) -> Extensions:
    return Extensions.from_json(json.loads(json.dumps(extensions.to_json())))


def test_a_value_is_found_under_its_key_and_nowhere_else() -> None:
    extensions = Extensions()
    extensions.put(KEPT, {"a"})
    assert extensions.get(KEPT) == {"a"}
    assert extensions.get(LOST) is None


def test_what_has_a_dump_and_a_load_comes_back_and_the_rest_does_not() -> None:
    extensions = Extensions()
    extensions.put(KEPT, {"b", "a"})
    extensions.put(LOST, object())

    back = again(extensions)

    assert back.get(KEPT) == {"a", "b"}
    assert back.get(LOST) is None


def test_a_value_that_came_back_is_one_object_from_then_on() -> None:
    extensions = Extensions()
    extensions.put(KEPT, {"a"})
    back = again(extensions)

    found = back.get(KEPT)
    assert found is not None
    found.add("b")

    assert again(back).get(KEPT) == {"a", "b"}


def test_what_nobody_has_asked_for_goes_on_unread() -> None:
    assert again(again(Extensions.from_json({"of a middleware that is not here": [1, 2]}))).to_json() == {
        "of a middleware that is not here": [1, 2]
    }


def test_a_value_of_nothing_is_not_written_out() -> None:
    extensions = Extensions()
    extensions.put(KEPT, None)  # type: ignore[arg-type] - a middleware that takes its value back
    assert extensions.to_json() == {}


def test_rubbish_is_an_error_that_names_the_key() -> None:
    broken: Key[int] = Key("counter", dump=int, load=lambda data: int(data["n"]))
    with pytest.raises(StateError, match="counter cannot be read back"):
        Extensions.from_json({"counter": "rubbish"}).get(broken)


def test_a_key_that_cannot_be_loaded_finds_nothing_of_an_earlier_process() -> None:
    assert Extensions.from_json({"lost": 1}).get(LOST) is None


def test_a_branch_shares_and_a_child_begins_anew() -> None:
    ctx = Services().turn("go")
    ctx.put(KEPT, {"a"})
    assert ctx.for_call(ToolCall("c", "t")).get(KEPT) is ctx.get(KEPT)
    assert ctx.child("x", Step("s")).get(KEPT) is None
