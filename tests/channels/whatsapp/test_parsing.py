from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sophon_channels.contract import (
    ButtonPress,
    ChannelAttachment,
    DeliveryReceipt,
    IdentityChanged,
    InboundMessage,
    MessageEdited,
    MessageReaction,
)
from sophon_channels.whatsapp.parsing import parse_webhook

NUMBER = "106500000000001"
NOW = datetime.fromtimestamp(1795000060, UTC)
CONTACT = {"profile": {"name": "Ada"}, "wa_id": "15550002222", "user_id": "US.13490000000000001"}


def body(*messages: Any, statuses: Any = (), contacts: Any = (CONTACT,), number: str = NUMBER) -> dict[str, Any]:
    value = {
        "messaging_product": "whatsapp",
        "metadata": {"display_phone_number": "15550001111", "phone_number_id": number},
        "contacts": list(contacts),
        "messages": list(messages),
        "statuses": list(statuses),
    }
    return {
        "object": "whatsapp_business_account",
        "entry": [{"id": "W", "changes": [{"field": "messages", "value": value}]}],
    }


def message(kind: str = "text", **more: Any) -> dict[str, Any]:
    content = {"text": {"text": {"body": "deploy please"}}}.get(kind, {})
    return {
        "from": "15550002222",
        "from_user_id": "US.13490000000000001",
        "id": "wamid.AAA1",
        "timestamp": "1795000000",
        "type": kind,
        **content,
        **more,
    }


def test_a_text_is_of_a_person_by_their_stable_id_and_of_a_chat_by_its_number() -> None:
    [found] = parse_webhook(body(message()), NUMBER, NOW)
    assert isinstance(found, InboundMessage)
    assert (found.person.id, found.person.name, found.location.chat) == ("US.13490000000000001", "Ada", "15550002222")
    assert (found.text, found.external_id, found.is_late) == ("deploy please", "wamid.AAA1", False)


@pytest.mark.parametrize(
    ("missing", "contacts", "person", "chat"),
    [
        ("from_user_id", (), "15550002222", "15550002222"),
        ("from", (), "US.13490000000000001", "US.13490000000000001"),
        ("from_user_id", (CONTACT,), "US.13490000000000001", "15550002222"),
        ("from", (CONTACT,), "US.13490000000000001", "15550002222"),
        ("from_user_id", ({"wa_id": "1", "user_id": "US.9"},), "15550002222", "15550002222"),
    ],
)
def test_what_a_message_does_not_tell_of_a_person_their_contact_may(
    missing: str, contacts: Any, person: str, chat: str
) -> None:
    odd = {key: value for key, value in message().items() if key != missing}
    [found] = parse_webhook(body(odd, contacts=contacts), NUMBER, NOW)
    assert isinstance(found, InboundMessage)
    assert (found.person.id, found.location.chat) == (person, chat)


@pytest.mark.parametrize(
    ("context", "forwarded"),
    [({"forwarded": True}, True), ({"frequently_forwarded": True}, True), ({"id": "wamid.1"}, False), ("x", False)],
)
def test_a_message_of_somebody_else_is_forwarded(context: Any, forwarded: bool) -> None:
    [found] = parse_webhook(body(message(context=context)), NUMBER, NOW)
    assert isinstance(found, InboundMessage)
    assert found.is_forwarded is forwarded


def test_who_has_neither_is_left_out_and_costs_nobody_else_anything() -> None:
    nobody = {"id": "wamid.X", "type": "text", "text": {"body": "?"}}
    assert len(parse_webhook(body(nobody, message(), {"odd": 1}), NUMBER, NOW)) == 1


def test_every_entry_change_message_and_status_of_a_batch_is_read() -> None:
    batch = body(message(), message(id="wamid.AAA2"), statuses=[{"id": "wamid.OUT7", "status": "read"}])
    batch["entry"] += body(message(id="wamid.AAA3"))["entry"]
    batch["entry"][0]["changes"] += body(message(id="wamid.AAA4"))["entry"][0]["changes"]
    found = [each.external_id for each in parse_webhook(batch, NUMBER, NOW)]
    assert found == ["wamid.AAA1", "wamid.AAA2", "wamid.OUT7:read", "wamid.AAA4", "wamid.AAA3"]


@pytest.mark.parametrize(
    ("kind", "content", "data"),
    [
        (
            "interactive",
            {"interactive": {"type": "button_reply", "button_reply": {"id": "ap:1", "title": "x"}}},
            "ap:1",
        ),
        ("interactive", {"interactive": {"type": "list_reply", "list_reply": {"id": "row", "title": "x"}}}, "row"),
        ("button", {"button": {"payload": "ap:2", "text": "x"}}, "ap:2"),
    ],
)
def test_buttons_rows_and_quick_replies_are_presses(kind: str, content: dict[str, Any], data: str) -> None:
    [found] = parse_webhook(body(message(kind, context={"id": "wamid.OUT7"}, **content)), NUMBER, NOW)
    assert isinstance(found, ButtonPress)
    assert (found.data, found.prompt_message_id, found.location.chat) == (data, "wamid.OUT7", "15550002222")


@pytest.mark.parametrize("kind", ["image", "audio", "video", "document", "sticker"])
def test_media_are_attachments_with_their_caption(kind: str) -> None:
    media = {"id": "99", "mime_type": "a/b", "sha256": "c2hh", "caption": "log", "filename": "x.pdf"}
    [found] = parse_webhook(body(message(kind, **{kind: media})), NUMBER, NOW)
    assert isinstance(found, InboundMessage)
    expected = "image" if kind == "sticker" else kind
    assert found.attachments == (ChannelAttachment("99", expected, "x.pdf", "a/b", None, "c2hh"),)  # type: ignore[arg-type]
    assert found.text == "log"


@pytest.mark.parametrize(
    ("place", "shown"),
    [
        ({"latitude": "\ud800\x00", "longitude": {"a": 1}}, "without a place"),
        ({"latitude": 10**5000, "longitude": 13}, "13"),
    ],
)
def test_a_place_that_is_no_place_costs_nothing(place: dict[str, Any], shown: str) -> None:
    [found] = parse_webhook(body(message("location", location=place)), NUMBER, NOW)
    assert isinstance(found, InboundMessage)
    assert found.shared[0].text == shown


def test_groups_and_other_numbers_are_left_out(caplog: Any) -> None:
    caplog.set_level("INFO")
    assert parse_webhook(body(message(group_id="g")), NUMBER, NOW) == []
    assert [each.getMessage() for each in caplog.records] == [
        "WhatsApp: skipped a message from a group; groups are not supported"
    ]
    assert parse_webhook(body(message(), number="1"), NUMBER, NOW) == []


def test_what_comes_long_after_it_was_written_is_late() -> None:
    [found] = parse_webhook(body(message(timestamp="1794000000")), NUMBER, NOW)
    assert isinstance(found, InboundMessage)
    assert found.is_late
    [found] = parse_webhook(body(message(timestamp="soon")), NUMBER, NOW)
    assert isinstance(found, InboundMessage)
    assert found.sent_at == NOW


ADA = "US.13490000000000001"


@pytest.mark.parametrize(
    ("sender", "system", "change"),
    [
        ({}, {"type": "user_changed_user_id", "user_id": "US.2"}, (ADA, "15550002222", "US.2", "")),
        (
            {},
            {"type": "user_changed_user_id", "user_id": "US.2", "wa_id": "1666"},
            (ADA, "15550002222", "US.2", "1666"),
        ),
        ({}, {"type": "user_changed_number", "wa_id": "1666"}, (ADA, "15550002222", "", "1666")),
        (
            {"from": None, "from_user_id": None},
            {"type": "user_changed_user_id", "user_id": "US.2", "previous_user_id": "US.1"},
            ("US.1", "", "US.2", ""),
        ),
        (
            {"from_user_id": "US.2"},
            {"type": "user_changed_number", "wa_id": "1666", "user_id": "US.2", "previous_user_id": "US.1"},
            ("US.1", "15550002222", "US.2", "1666"),
        ),
        (
            {"from_user_id": "US.2"},
            {"type": "user_changed_user_id", "user_id": "US.2"},
            ("", "15550002222", "US.2", ""),
        ),
    ],
)
def test_who_has_a_new_number_or_user_id_is_told_with_the_old_ones(
    sender: dict[str, Any], system: dict[str, Any], change: tuple[str, ...]
) -> None:
    found = message("system", system=system, **sender)
    assert parse_webhook(body(found, contacts=()), NUMBER, NOW) == [IdentityChanged("wamid.AAA1", *change)]


def test_a_system_message_that_changes_nothing_is_left_out() -> None:
    same = message("system", system={"type": "user_changed_number", "wa_id": "15550002222"})
    assert parse_webhook(body(same, message("system", system={"type": "other", "wa_id": "1"})), NUMBER, NOW) == []


def test_a_status_tells_what_went_wrong() -> None:
    errors = [{"code": 131047, "title": "Re-engagement message", "error_data": {"details": "more than 24 hours"}}]
    told = [
        {"id": "wamid.OUT8", "status": "failed", "errors": errors, "recipient_id": "1555"},
        {"id": "wamid.OUT9", "status": "odd"},
    ]
    [found] = parse_webhook(body(statuses=told), NUMBER, NOW)
    assert found == DeliveryReceipt(
        "wamid.OUT8:failed", "wamid.OUT8", "failed", 131047, "more than 24 hours", "1555", True, True
    )


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from(
    [
        "from",
        "from_user_id",
        "id",
        "type",
        "text",
        "timestamp",
        "interactive",
        "image",
        "context",
        "system",
        "order",
        "contacts",
        "referral",
    ]
)
ODD = st.dictionaries(
    KEYS, JSON | st.sampled_from(["text", "image", "interactive", "button", "system", "location", "order", "contacts"])
)


@given(JSON, st.lists(ODD, max_size=3))
def test_any_json_whatsoever_gives_a_list(anything: Any, odd: list[dict[str, Any]]) -> None:
    assert isinstance(parse_webhook(anything, NUMBER, NOW), list)
    found = parse_webhook(body(*odd, message(), statuses=odd, contacts=odd), NUMBER, NOW)
    assert "wamid.AAA1" in [each.external_id for each in found]


def test_a_reaction_names_the_message_and_one_that_was_taken_back_has_no_emoji() -> None:
    given, gone = (
        message("reaction", id=f"wamid.{name}", reaction={"message_id": "wamid.bot", **emoji})
        for name, emoji in (("1", {"emoji": "👎"}), ("2", {"emoji": ""}))
    )
    nothing = message("reaction", id="wamid.3", reaction={"emoji": "👍"})
    found = parse_webhook(body(given, gone, nothing), NUMBER, NOW)
    assert [(type(each), each.message_id, each.emojis, each.chat) for each in found] == [
        (MessageReaction, "wamid.bot", ("👎",), ""),
        (MessageReaction, "wamid.bot", (), ""),
    ]


def test_an_edit_has_the_identity_of_the_message_and_one_of_its_own() -> None:
    inner = {"type": "text", "text": {"body": "better"}}
    edit = {"original_message_id": "wamid.OLD", "message": inner}
    (found,) = parse_webhook(body(message("edit", edit=edit)), NUMBER, NOW)
    assert isinstance(found, MessageEdited)
    assert found.external_id == message("edit")["id"]
    assert (found.message.external_id, found.message.text) == ("wamid.OLD", "better")
    assert found.message.person.number == message("edit")["from"]


@pytest.mark.parametrize(
    "edit",
    [{}, {"original_message_id": "w"}, {"message": {"type": "text", "text": {"body": "x"}}}]
    + [{"original_message_id": "w", "message": {"type": kind}} for kind in ("edit", "system", "reaction", "revoke")],
)
def test_an_edit_of_nothing_is_none(edit: dict[str, Any]) -> None:
    found = parse_webhook(body(message("edit", edit=edit)), NUMBER, NOW)
    assert not any(isinstance(each, MessageEdited) and each.message.text for each in found)
