"""Requests: what is made of the values that a client sent, and the errors."""

from typing import Any

import pytest

from sophon.errors import InputError
from sophon_hosting.operations.request import Request


class Part(Request):
    """A part of an example."""

    name: str


class Example(Request):
    """Some values."""

    number: int
    items: dict[str, Any] = {}
    part: Part | None = None

    def check(self) -> None:
        if self.number == 13:
            raise ValueError("not this one")


class LenientExample(Example):
    """Some values, and whatever else."""

    ignores_unknown = True


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"number": 13}, "not this one"),
        ({}, "number: it is missing"),
        ({"number": "1"}, "number: it must be a whole number"),
        ({"number": 1, "nunber": 2}, "nunber: there is no such field"),
        ({"number": 1, "part": {}}, "part.name: it is missing"),
        ({"number": 1, "part": {"name": "a", "size": 1}}, "part.size: there is no such field"),
    ],
)
def test_an_invalid_request_names_the_field_or_what_its_check_says(values: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=f"^{sentence}$"):
        Example.validate(values)


def test_a_request_is_frozen_and_shares_no_default() -> None:
    one, other = Example.validate({"number": 1}), Example.validate({"number": 1})
    one.items["x"] = 1
    assert other.items == Example.items == {}
    with pytest.raises(AttributeError, match="frozen"):
        one.number = 2


def test_a_request_may_be_part_of_another_one() -> None:
    part = Example.validate({"number": 1, "part": {"name": "a"}}).part
    assert part is not None
    assert part.name == "a"


def test_a_request_may_ignore_what_it_does_not_know() -> None:
    assert LenientExample.validate({"number": 1, "nunber": 2}).to_dict() == {"number": 1, "items": {}, "part": None}
