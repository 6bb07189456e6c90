"""Every kind of message of WhatsApp has one defined treatment, and so has one that nobody knows."""

import json
from typing import Any

import pytest

from sophon_channels.contract import InboundMessage, SharedText
from sophon_channels.message_kind_treatments import UNKNOWN_KIND
from sophon_channels.whatsapp.message_content import MESSAGE_KINDS
from sophon_channels.whatsapp.parsing import parse_webhook
from tests.channels.whatsapp.test_parsing import NOW, NUMBER, body, message

OWN_TYPE = {name for name in MESSAGE_KINDS if "/" not in name and name not in ("referral", "errors")}


def read(kind: str, **more: Any) -> InboundMessage | None:
    found = parse_webhook(body(message(kind, **more)), NUMBER, NOW)
    assert all(isinstance(each, InboundMessage) for each in found)
    return found[0] if found else None  # type: ignore[return-value]


@pytest.mark.parametrize("kind", sorted(n for n in OWN_TYPE if MESSAGE_KINDS[n].treatment == "answered"))
def test_a_kind_that_cannot_be_read_is_named(kind: str) -> None:
    found = read(kind, errors=[{"code": 131051, "title": "unsupported"}])
    assert found is not None
    assert (found.unreadable, found.text) == (MESSAGE_KINDS[kind].label, "")


@pytest.mark.parametrize("kind", sorted(n for n in OWN_TYPE if MESSAGE_KINDS[n].treatment == "ignored"))
def test_what_is_no_message_to_the_bot_is_ignored(kind: str) -> None:
    assert read(kind, **{kind: {"emoji": "👍", "type": "other"}}) is None


@pytest.mark.parametrize(("kind", "more"), [("hologram", {}), ("interactive", {"interactive": {"type": "new"}})])
def test_what_a_newer_whatsapp_sends_is_answered_as_an_unknown_kind(kind: str, more: dict[str, Any]) -> None:
    found = read(kind, **more)
    assert found is not None
    assert found.unreadable == UNKNOWN_KIND


FORM = {"flow_token": "t", "name": "Ada", "guests": 2}
PHONES = [{"phone": "+49 1", "type": "CELL"}, {"wa_id": "492"}, {}]
ITEMS = [{"product_retailer_id": "tea", "quantity": 2, "item_price": 3.5, "currency": "EUR"}]
SHARED: dict[str, tuple[dict[str, Any], str, str]] = {
    "location": (
        {"location": {"latitude": 52.5, "longitude": 13.4, "name": "Home", "address": "Street 1"}},
        "location",
        "Home, Street 1, 52.5, 13.4",
    ),
    "contacts": (
        {"contacts": [{"name": {"formatted_name": "Bob\nLi"}, "phones": PHONES}, {"name": {}}]},
        "contact",
        "Bob Li, +49 1, 492\n(no name), (no number)",
    ),
    "order": (
        {"order": {"catalog_id": "c1", "text": "quick", "product_items": ITEMS}},
        "order",
        "quick\n- 2 x tea at 3.5 EUR\ncatalog c1",
    ),
    "interactive": (
        {"interactive": {"type": "nfm_reply", "nfm_reply": {"response_json": json.dumps(FORM)}}},
        "form",
        "name: Ada\nguests: 2",
    ),
}


@pytest.mark.parametrize("kind", SHARED)
def test_what_a_message_shares_becomes_text_from_elsewhere(kind: str) -> None:
    fields, name, text = SHARED[kind]
    found = read(kind, **fields)
    assert found is not None
    assert (found.text, found.shared) == ("", (SharedText(name, text),))


def test_every_described_kind_has_a_sample_here() -> None:
    described = {name.partition("/")[0] for name, kind in MESSAGE_KINDS.items() if kind.treatment == "described"}
    assert described - {"referral", "context"} == set(SHARED)


@pytest.mark.parametrize(
    ("more", "shared"),
    [
        (
            {"referral": {"headline": "Tea!", "body": "cheap", "source_url": "https://a.example"}},
            SharedText("advertisement", "Tea!\ncheap\nhttps://a.example"),
        ),
        (
            {"context": {"referred_product": {"catalog_id": "c", "product_retailer_id": "p"}}},
            SharedText("product", "c\np"),
        ),
    ],
)
def test_what_a_text_is_about_comes_beside_it(more: dict[str, Any], shared: SharedText) -> None:
    found = read("text", **more)
    assert found is not None
    assert (found.text, found.shared) == ("deploy please", (shared,))


def test_whoever_opens_the_chat_is_greeted() -> None:
    found = read("request_welcome")
    assert found is not None
    assert found.text == "/start"


def test_a_reply_names_the_message_that_it_quotes() -> None:
    found = read("text", context={"from": "1", "id": "wamid.OUT7"})
    assert found is not None
    assert found.quoted_message_id == "wamid.OUT7"


def test_numbers_that_no_text_could_hold_cost_nothing() -> None:
    found = read("order", order={"product_items": [{"item_price": 10**5000, "quantity": 10**5000}]})
    assert found is not None
    assert found.shared == (SharedText("order", "- (a product)"),)
