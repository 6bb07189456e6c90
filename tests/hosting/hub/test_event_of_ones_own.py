"""An event that is declared by a class reaches whom it names, and is shown, stored, posted and described as it says."""

import pytest

from sophon._python.lazy_dataclass import dataclass
from sophon.clock import SystemClock
from sophon.events import Event
from sophon.events.visibility import Plain, Text
from sophon.traces.event_folding import TraceFolder
from sophon.turn.history_redaction import HIDDEN
from sophon_hosting.client_api.history_view import HistoryView
from sophon_hosting.events.resume_deduplication import EventDeduplicator
from sophon_hosting.features.webhooks.outgoing import OutgoingWebhooks
from sophon_hosting.features.webhooks.settings import OutgoingWebhookSettings


@dataclass(slots=True, kw_only=True)
class LampLit(Event):
    """A lamp was lit."""

    audience = "operators"
    unique_by = ("lamp_id",)
    in_trace = False
    is_first = True

    lamp_id: Plain
    message: Text
    heard: str = ""


@dataclass(slots=True, kw_only=True)
class LampTrimmed(Event):
    """The wick of a lamp was trimmed."""

    lamp_id: Plain


def lit(session_id: str = "s") -> LampLit:
    return LampLit(session_id=session_id, task_id="t", lamp_id="north", message="ships ahead", heard="a horn")


WITHOUT = {"Permissions": {"Users": {"olga": {"Level": "ZeroTrust"}}}}


@pytest.mark.parametrize("settings", [WITHOUT])
async def test_it_reaches_operators_who_have_not_joined_and_see_what_its_fields_allow(house, settings) -> None:
    olga, ada, bob = await house.peer("olga", "/operator"), await house.peer("ada"), await house.peer("bob")
    await ada.done("join_session", {"session_id": "s"})

    house.host.event_bus.emit(LampTrimmed(session_id="s", lamp_id="north"))
    house.host.event_bus.emit(lit())
    await house.host.event_bus.flush("s")

    assert (await ada.until("lamp_lit"))["heard"] == "a horn"
    seen = await olga.until("lamp_lit")
    assert (seen["lamp_id"], seen["message"], seen["heard"]) == ("north", HIDDEN, HIDDEN)
    assert (olga.of("lamp_trimmed"), bob.heard) == ([], [])
    missed = (await ada.done("join_session", {"session_id": "s", "last_seq": 0}))["events"]
    assert [each["event"] for each in missed] == ["lamp_trimmed", "lamp_lit"]


def test_a_webhook_posts_it_without_its_content() -> None:
    wanted = OutgoingWebhookSettings.model_validate(
        {"id": "w", "url": "https://example.org", "secret": "x" * 32, "events": ["lamp_lit"]}
    )
    (entry,) = OutgoingWebhooks([wanted], SystemClock()).build_row(lit()).outbound
    data = entry.payload["data"]
    assert data["lamp_id"] == "north"
    assert not {"message", "heard"} & data.keys()


def test_a_turn_that_resumes_emits_it_once_and_no_trace_has_it() -> None:
    emitted = EventDeduplicator()
    assert [emitted.register(lit()), emitted.register(lit())] == [True, False]

    folder = TraceFolder()
    folder.fold([(1.0, lit()), (2.0, LampTrimmed(lamp_id="north"))])
    assert [each.kind for each in folder.notes] == ["lamp_trimmed"]


def test_its_owner_reads_its_text_without_secrets() -> None:
    data = {"message": "the key is sk-" + "a" * 40, "heard": "a horn"}
    shown = HistoryView().event_data("lamp_lit", data, is_own=True)
    assert "REDACTED" in shown["message"]
    assert shown["heard"] == HIDDEN
