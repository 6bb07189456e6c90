from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from sophon_channels.contract import ChatMigrated, DeliveryReceipt, InboundEvent
from sophon_channels.whatsapp.parsing import parse_webhook
from sophon_channels.whatsapp.status_deduplicator import MAX_TRACKED_MESSAGES, STATUS_ORDER, StatusDeduplicator
from tests.channels.whatsapp.graph_api import NUMBER_ID
from tests.channels.whatsapp.test_parsing import body


def told(*statuses: str, of: str = "wamid.OUT7") -> list[InboundEvent]:
    given = [{"id": of, "status": status} for status in statuses]
    return list(parse_webhook(body(statuses=given), NUMBER_ID, datetime.fromtimestamp(1795000060, UTC)))


def taken(statuses: StatusDeduplicator, given: list[InboundEvent]) -> list[str]:
    news = statuses.filter_new(given)
    statuses.record(news)
    return [each.status for each in news if isinstance(each, DeliveryReceipt)]


def test_what_follows_read_is_no_news() -> None:
    statuses = StatusDeduplicator()
    assert taken(statuses, told("sent", "read", "delivered")) == ["sent", "read"]
    assert taken(statuses, told("delivered", "read", "failed", "sent")) == ["failed"]


def test_messages_have_nothing_to_do_with_each_other_and_other_arrivals_pass() -> None:
    statuses = StatusDeduplicator()
    moved = ChatMigrated("m", "1", "2")
    assert statuses.filter_new([*told("read"), moved, *told("sent", of="wamid.OUT8")])[1] == moved
    assert taken(statuses, [*told("read"), *told("sent", of="wamid.OUT8")]) == ["read", "sent"]


def test_what_was_not_kept_is_news_again() -> None:
    statuses = StatusDeduplicator()
    assert statuses.filter_new(told("read")) == statuses.filter_new(told("read"))


def test_only_so_many_messages_are_remembered() -> None:
    statuses = StatusDeduplicator()
    for number in range(MAX_TRACKED_MESSAGES + 1):
        taken(statuses, [DeliveryReceipt("x", str(number), "read")])
    assert taken(statuses, told("sent", of="1")) == []
    assert taken(statuses, told("sent", of="0")) == ["sent"]


@given(st.lists(st.lists(st.sampled_from(STATUS_ORDER))))
def test_in_any_order_the_last_news_is_the_furthest(batches: list[list[str]]) -> None:
    statuses = StatusDeduplicator()
    news = [step for batch in batches for step in taken(statuses, told(*batch))]
    assert news == sorted(set(news), key=STATUS_ORDER.index)
    everything = [step for batch in batches for step in batch]
    assert not everything or news[-1] == max(everything, key=STATUS_ORDER.index)
