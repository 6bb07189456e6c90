"""Payloads: what pydantic makes of what a client sent, and its errors."""

from typing import Any

import pytest
from pydantic import ValidationError

from sophon_hosting.client_api.payload import Payload


class Example(Payload):
    number: int
    items: dict[str, Any] = {}

    def check(self) -> None:
        if self.number == 13:
            raise ValueError("not this one")


def test_an_invalid_payload_has_the_errors_of_pydantic_and_those_of_its_check() -> None:
    with pytest.raises(ValidationError, match="not this one"):
        Example.validate({"number": 13})
    with pytest.raises(ValidationError, match="number"):
        Example.validate({})
    with pytest.raises(ValidationError):
        Example.validate([])


def test_a_payload_is_frozen_and_shares_no_default() -> None:
    one, other = Example.validate({"number": 1}), Example.validate({"number": 1})
    one.items["x"] = 1
    assert other.items == Example.items == {}
    with pytest.raises(AttributeError, match="frozen"):
        one.number = 2
