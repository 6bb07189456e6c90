"""What the inner middlewares keep of a turn for its checkpoints does not grow with its rounds."""

import json

from sophon import Context, Services, ToolCall
from sophon.approvals import Grant
from sophon.testing import VirtualClock
from sophon_middlewares.inner.agentic_loop.loop_detector import MAX_REMEMBERED_WARNINGS, LoopDetector
from sophon_middlewares.inner.approval.announced_requests import ANNOUNCED, note_announced


def turn() -> Context:
    return Services(clock=VirtualClock()).turn("go")


def again(ctx: Context) -> Context:
    return Services(clock=VirtualClock()).restore(json.loads(json.dumps(ctx.state())))


def test_a_request_is_announced_once_in_its_round_and_forgotten_in_the_next() -> None:
    ctx = turn()
    for ctx.iteration in range(300):
        assert note_announced(ctx, f"apr_{ctx.iteration}")
        assert note_announced(ctx, "apr_other")
        assert not note_announced(ctx, f"apr_{ctx.iteration}")
    back = again(ctx)
    assert not note_announced(back, "apr_299")
    announced = back.get(ANNOUNCED)
    assert announced is not None
    assert announced.ids == ["apr_299", "apr_other"]


def test_grants_of_calls_that_have_run_are_not_stored() -> None:
    ctx = turn()
    ctx.grants = {f"c{number}": Grant("digest") for number in range(300)}
    ctx.pending = [ToolCall("c299", "pay")]
    assert list(ctx.state()["grants"]) == ["c299"]


def test_the_loop_detector_remembers_its_newest_warnings() -> None:
    detector = LoopDetector()
    for number in range(MAX_REMEMBERED_WARNINGS + 50):
        for result in ("one", "two", "three"):
            call = ToolCall("", "poll", {"number": number})
            detector.check(call)
            detector.record(call, result)
    warned = LoopDetector.from_json(json.loads(json.dumps(detector.to_json()))).to_json()["warned"]
    assert len(warned) == MAX_REMEMBERED_WARNINGS
    assert f'"number":{MAX_REMEMBERED_WARNINGS + 49}' in warned[-1]
