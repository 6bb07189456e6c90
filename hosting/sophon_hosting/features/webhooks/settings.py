"""Settings of webhooks: requests that become messages, and events that are sent as requests."""

from typing import Annotated, Literal, TypeAlias

from sophon.settings.root import RootSection
from sophon.settings.types.field_types import CaseInsensitive, Flag, WebUrl
from sophon.settings.types.secret_references import Secret
from sophon.settings.types.section import Field, SettingsSection

ID_PATTERN = r"^[a-z0-9_-]{1,32}$"

SignatureScheme: TypeAlias = Literal["Sophon", "Standard", "GitHub", "Stripe", "Slack"]
"""How a request is signed; each is HMAC-SHA256 over the body."""


class DeliverySettings(SettingsSection):
    """A chat that gets the answers to a webhook's messages."""

    channel: str = Field(min_length=1, description="Name of the channel, such as `telegram`.")
    chat: str = Field(min_length=1, description="Id of the chat on the platform, with `/THREAD` for a thread.")


class IncomingWebhookSettings(SettingsSection):
    """A webhook that turns signed requests to `/webhooks/receive/ID` into messages."""

    id: str = Field(pattern=ID_PATTERN, description="Id of your choice, the last part of the URL.")
    enabled: Flag = Field(default=True, description="Whether requests are accepted.")
    secret: Secret = Field(description="Secret of the signature; a request without a valid one is refused.")
    scheme: Annotated[SignatureScheme, CaseInsensitive()] = Field(
        default="Sophon",
        description="Header and form of the signature: `Sophon` (`X-Sophon-Signature`), `Standard` (Standard "
        "Webhooks), `GitHub`, `Stripe`, `Slack`.",
    )
    user: str = Field(
        default="local",
        min_length=1,
        description="User on whose behalf the messages run: their budgets, tools, rights.",
    )
    instructions: str = Field(
        default="", description="What the agent is told to do with each request; these words are yours, and trusted."
    )
    template: str = Field(
        default="",
        description="What the agent is shown of the body, with `{{path.of.a.value}}`; empty: the whole body as JSON. "
        "It is fenced as untrusted text.",
    )
    filters: dict[str, tuple[str, ...]] = Field(
        default={},
        description="Accepted values by the path of a value in the body, or by `header:NAME`; other requests are "
        "answered, and make no message.",
    )
    session: str = Field(
        default="", description="Session of the messages, with `{{path}}` as in Template; empty: one per webhook."
    )
    deliver: DeliverySettings | None = Field(default=None, description="Chat that gets the answers; null: none.")


class OutgoingWebhookSettings(SettingsSection):
    """A webhook that sends events of the host to a URL."""

    id: str = Field(pattern=ID_PATTERN, description="Id of your choice.")
    enabled: Flag = Field(default=True, description="Whether events are recorded for it and sent.")
    url: WebUrl = Field(description="URL that each event is posted to.")
    secret: Secret = Field(description="Secret of the signature.")
    events: tuple[str, ...] = Field(
        default=("task_completed", "task_failed", "task_cancelled"),
        description="Names of durable events; see docs/protocol.md.",
    )
    content: Flag = Field(
        default=False, description="Whether texts, arguments and results are sent too: what people and models wrote."
    )


class WebhooksSettings(RootSection, key="Webhooks", description="Signed requests in, and events out."):
    """Webhooks of the host."""

    incoming: tuple[IncomingWebhookSettings, ...] = Field(
        default=(), description="Webhooks whose requests become messages."
    )
    outgoing: tuple[OutgoingWebhookSettings, ...] = Field(default=(), description="Webhooks that events are sent to.")
