"""Results of webhooks: their settings, without secrets, and what waits to be delivered."""

from typing import Literal

from sophon._python.lazy_typed_dict import TypedDict


class IncomingWebhook(TypedDict):
    """A webhook that sends messages to the host; `deliver` is the chat that gets the answer, as `channel:chat`."""

    id: str
    direction: Literal["incoming"]
    enabled: bool
    path: str
    scheme: str
    user: str
    deliver: str | None


class OutgoingWebhook(TypedDict):
    """A webhook to which the host sends events; `waiting` and `dead` count its deliveries."""

    id: str
    direction: Literal["outgoing"]
    enabled: bool
    url: str
    events: list[str]
    waiting: int
    dead: int
    last_error: str


class WebhookList(TypedDict):
    """The webhooks in the order of the settings, the incoming ones first."""

    items: list[IncomingWebhook | OutgoingWebhook]


class SentTest(TypedDict):
    """The entry of the test event among what is to be sent."""

    entry_id: str
