"""Classification of actions by their texts: which are read, and that none is left out unsaid."""

import asyncio
from collections.abc import Mapping
from typing import Any, cast

import pytest

from sophon.security.heuristics import Finding
from sophon.security.shield.action_text_classification import MAX_CHARACTERS, SKIPPED, TOO_LONG, classify_texts
from tests.tables import table

ATTACK = "an attack of some length"


def rate(text: str) -> float:
    return 0.9 if ATTACK in text else 0.3


async def find(action_type: str, payload: Mapping[str, Any], *, is_slow: bool = False) -> Finding:
    return cast(Finding, await classify_texts(rate, "block", is_slow=is_slow)(action_type, payload))


@table("is_slow", [False, True])
@table("payload", [{"text": ATTACK}, {"steps": [{"do": "x"}, {"do": ATTACK}]}, {ATTACK: 1}])
async def test_the_text_with_the_highest_probability_counts(payload: Mapping[str, Any], is_slow: bool) -> None:
    assert await find("publish", payload, is_slow=is_slow) == Finding("block", 0.9, ("classifier.attack",))


async def test_less_than_the_threshold_is_no_finding() -> None:
    assert await find("publish", {"text": "an ordinary text"}) == Finding()


@table("action_type", sorted(SKIPPED))
async def test_texts_for_people_and_programs_are_not_classified(action_type: str) -> None:
    assert await find(action_type, {"text": ATTACK}) == Finding()


async def test_a_text_that_is_not_read_to_its_end_goes_to_a_person() -> None:
    assert await find("publish", {"text": "x" * (MAX_CHARACTERS + 1)}) == TOO_LONG
    assert (await find("publish", {"text": "x" * (MAX_CHARACTERS - 100) + ATTACK})).severity == "block"


async def test_a_long_text_does_not_hold_up_the_event_loop() -> None:
    loop, seen = asyncio.get_running_loop(), list[bool]()

    def note(text: str) -> float:
        try:
            seen.append(asyncio.get_running_loop() is loop)
        except RuntimeError:
            seen.append(False)
        return 0.0

    for text in ("a short text", "x" * 5_000):
        await classify_texts(note, "block")("publish", {"text": text})
    assert seen == [True, False]


async def test_a_classifier_that_fails_is_an_error() -> None:
    def fail(text: str) -> float:
        raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        await classify_texts(fail, "block")("publish", {"text": ATTACK})
