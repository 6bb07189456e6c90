"""Payloads: what is accepted without pydantic is what pydantic makes of it, and the rest has pydantic's errors."""

import copy
import subprocess
import sys
from typing import Any, get_args

import pytest
from pydantic import ValidationError

from sophon_hosting.client_api.payload import Payload, build_model
from sophon_hosting.http import app as _app  # noqa: F401 - defines all bodies and queries
from sophon_hosting.hub import hub as _hub  # noqa: F401 - defines the events of clients

CANDIDATES: list[Any] = [
    *(0, 1, -1, 1000, 1001, 2**53, 2**63, 10**30, 0.5, 1.0, float("nan"), float("inf"), True, False, None, "1", "true"),
    *("", " ", "x", "x" * 3000, "\ud800", "é", b"x", [], ["x"], {}, {"x": [1, {"y": None}]}, {1: 2}, ("x",), [{}]),
]
REQUIRED: dict[str, Any] = {"value": 1, "epoch": 0, "messages": [{"role": "user", "content": "hi"}]}


def list_payloads(base: type[Payload]) -> set[type[Payload]]:
    below = set(base.__subclasses__())
    return below | {each for one in below for each in list_payloads(one)}


PAYLOADS = sorted(
    (each for each in list_payloads(Payload) if each.__module__ != __name__), key=lambda each: each.__qualname__
)


def options(annotation: Any) -> list[Any]:
    return [each for each in get_args(annotation) if isinstance(each, str)] + [
        option for each in get_args(annotation) for option in options(each)
    ]


@pytest.mark.parametrize("payload", PAYLOADS, ids=lambda each: each.__name__)
def test_what_is_accepted_without_pydantic_is_what_pydantic_makes_of_it(payload: type[Payload]) -> None:
    model = build_model(payload)
    fields = model.model_fields
    base = {
        name: REQUIRED.get(name, next(iter(options(info.annotation)), "x"))
        for name, info in fields.items()
        if info.is_required()
    }
    for name in (*fields, "unknown"):
        for candidate in (*CANDIDATES, *(options(fields[name].annotation) if name in fields else ())):
            values = {**base, name: candidate}
            try:
                found = payload._accept_plain(copy.deepcopy(values))
            except ValueError:
                continue
            made = model.model_validate(values)
            assert repr(found.to_dict()) == repr(dict(vars(made))), values
            assert found.fields_set == made.model_fields_set


def test_payloads_are_found() -> None:
    assert len(PAYLOADS) > 30


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


def test_a_first_message_loads_no_pydantic() -> None:
    code = """
import sys
from sophon_hosting.hub.client_event_payloads import JoinSessionPayload, SendMessagePayload, parse_payload
assert parse_payload(JoinSessionPayload, [{"session_id": "s", "last_seq": 3}]).last_seq == 3
message = parse_payload(SendMessagePayload, [{"content": "hello", "session_id": "s"}])
assert message.to_dict()["stream"] is True and message.content == "hello"
assert "pydantic_core" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
