"""Self-test of a bot for `sophon doctor`: detects common configuration mistakes in Telegram's answers. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from sophon_channels.contract import Finding
from sophon_channels.fields import Fields, text, texts, whole
from sophon_channels.telegram.failures import Failure
from sophon_channels.telegram.requests import ALLOWED_UPDATES
from sophon_channels.telegram.webhook import PATH

WEBHOOK_PORTS = frozenset({443, 80, 88, 8443})
"""The ports that Telegram delivers to (setWebhook)."""

MANY_PENDING = 100
"""From this number of pending updates on, the check fails."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Expected configuration. `webhook_url` is the public URL, None if the host does not know it."""

    mode: Literal["Polling", "Webhook"]
    group_policy: Literal["MentionOnly", "All", "AllowList", "Disabled"]
    webhook_url: str | None = None


def unreachable(failure: Failure, origin: str) -> Finding:
    """Return the result for a failed getMe; `origin` is where the token is configured."""
    if failure.refuses_token:
        return Finding(False, "Telegram rejects the token", f"copy it from @BotFather again into {origin}")
    return Finding(False, f"Telegram cannot be reached ({failure})", "check the network, the proxy and ApiBase")


def of_bot(me: Fields, wanted: Wanted) -> Iterator[Finding]:
    """Check the answer of getMe: the bot's name, and whether it can read the messages that the settings expect."""
    yield Finding(True, f"the token belongs to @{text(me, 'username')}")
    if wanted.group_policy == "Disabled":
        return
    if me.get("can_join_groups") is False:
        yield Finding(False, "the bot cannot be added to groups", "allow it with /setjoingroups in @BotFather")
    if me.get("can_read_all_group_messages") is True:
        yield Finding(True, "privacy mode is off: the bot sees all messages in its groups")
    elif wanted.group_policy == "MentionOnly":
        yield Finding(True, "privacy mode is on: in groups the bot sees commands, mentions and replies to it")
    else:
        yield Finding(
            False,
            f"privacy mode is on, and GroupPolicy {wanted.group_policy} expects all messages in groups",
            "turn it off with /setprivacy in @BotFather, then remove the bot from its groups and add it again",
        )


def of_webhook(info: Fields, wanted: Wanted) -> Iterator[Finding]:
    """Check the answer of getWebhookInfo: whether updates are delivered in the configured mode."""
    url = text(info, "url")
    yield from _check_polling(url) if wanted.mode == "Polling" else _check_webhook_delivery(info, url, wanted)
    pending = whole(info, "pending_update_count") or 0
    if pending >= MANY_PENDING:
        yield Finding(False, f"{pending} updates are pending", "start the host; Telegram keeps updates for 24 hours")
    else:
        yield Finding(True, f"{pending} updates are pending")


def _check_polling(url: str) -> Iterator[Finding]:
    if url:
        # Only the host name: the path of a webhook may be a secret.
        yield Finding(
            False,
            f"a webhook is set (at {urlsplit(url).hostname}), which prevents polling",
            "the host removes it when it starts; if another program uses this bot, create a second bot for it",
        )
    else:
        yield Finding(True, "no webhook is set: updates can be polled")


def _check_webhook_delivery(info: Fields, url: str, expected: Wanted) -> Iterator[Finding]:
    if not url:
        yield Finding(
            False, "no webhook is set", f"start the host with its public URL, or set the webhook to https://…{PATH}"
        )
        return
    if expected.webhook_url is not None and url != expected.webhook_url:
        yield Finding(False, f"the webhook is set to {urlsplit(url).hostname}", f"it should be {expected.webhook_url}")
    yield from _check_url(expected.webhook_url or url)
    if error := text(info, "last_error_message"):
        yield Finding(False, f"Telegram could not deliver: {error}", "check certificate, proxy and secret")
    if not set(ALLOWED_UPDATES) <= set(texts(info, "allowed_updates") or ALLOWED_UPDATES):
        yield Finding(
            False, "the webhook does not deliver messages and button presses", "start the host, which sets it again"
        )


def _check_url(url: str) -> Iterator[Finding]:
    parts = urlsplit(url)
    try:
        port = parts.port or 443
    except ValueError:
        port = -1
    if parts.scheme != "https":
        yield Finding(False, "the webhook URL is not https", "put a proxy with a certificate in front of the host")
    elif port not in WEBHOOK_PORTS:
        yield Finding(False, f"Telegram does not deliver to port {port}", "use 443, 80, 88 or 8443")
    elif parts.path != PATH:
        yield Finding(False, f"the path of the webhook URL is not {PATH}", "correct the URL, or the proxy")
    else:
        yield Finding(True, f"the webhook is at {parts.hostname}")
