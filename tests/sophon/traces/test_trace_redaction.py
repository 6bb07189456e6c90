"""A trace holds no secret of what it is folded from; without the redaction it would."""

import json
from typing import Any

import pytest

from sophon.events import ModelAttempt, ToolCallStarted
from sophon.testing import VirtualClock
from sophon.traces.recorder import TracedTurn, TraceEnd, TraceRecorder
from sophon.traces.serialization import trace_to_stored

SECRET = "sk-" + "a1B2c3D4" * 6
NICKNAME = "the blue otter"


def stored(**options: Any) -> str:
    """The stored trace of a turn whose events hold a key, and a word that only this host keeps secret."""
    recorder = TraceRecorder(TracedTurn("r", "s", "ada", ""), VirtualClock())
    text = f"{SECRET} of {NICKNAME}"
    recorder.record(ToolCallStarted(call_id="c", tool="look", arguments_digest="", arguments={"what": text}))
    recorder.record(ModelAttempt(purpose="reply", model="p/m", outcome="bad_request", duration_ms=1, detail=text))
    trace = recorder.build(TraceEnd(status="completed", active_seconds=0), **options)
    return json.dumps(trace_to_stored(trace))


def hide(text: str) -> str:
    return text.replace(NICKNAME, "[hidden]")


def test_keys_and_what_the_host_keeps_secret_are_replaced() -> None:
    found = stored(redact=hide)
    assert SECRET not in found
    assert NICKNAME not in found
    assert found.count("REDACTED") == found.count("[hidden]") == 2


def test_without_the_hosts_redactor_its_word_would_be_stored() -> None:
    assert stored().count(NICKNAME) == 2


def test_without_the_redaction_the_key_would_be_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sophon.traces.event_folding.redact_and_cut", lambda text, limit: text[:limit])
    # Of the arguments: the attempt replaces keys in its detail itself.
    assert stored(redact=hide).count(SECRET) == 1
