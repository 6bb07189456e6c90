"""What `sophon doctor` says of a bot: the usual set-up mistakes, found in what Telegram answers. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from sophon_channels.contract import Finding
from sophon_channels.fields import Fields, text, texts, whole
from sophon_channels.telegram.failures import Failure
from sophon_channels.telegram.parse import ALLOWED_UPDATES
from sophon_channels.telegram.webhook import PATH

WEBHOOK_PORTS = frozenset({443, 80, 88, 8443})
"""The ports that Telegram sends to (setWebhook)."""

MANY_PENDING = 100


@dataclass(frozen=True, slots=True)
class Wanted:
    """How the channel is set up; `webhook_url` is the public address, None where the host does not know it."""

    mode: Literal["Polling", "Webhook"]
    group_policy: Literal["MentionOnly", "All", "AllowList", "Disabled"]
    webhook_url: str | None = None


def unreachable(failure: Failure, origin: str) -> Finding:
    """getMe did not succeed; `origin` says where the token stands."""
    if failure.refuses_token:
        return Finding(False, "Telegram does not know the token", f"copy it from @BotFather again into {origin}")
    return Finding(False, f"Telegram cannot be asked ({failure})", "check the network, a proxy, and ApiBase")


def of_bot(me: Fields, wanted: Wanted) -> Iterator[Finding]:
    """From getMe: who it is, and whether it can read what the settings expect it to read."""
    yield Finding(True, f"the token is that of @{text(me, 'username')}")
    if wanted.group_policy == "Disabled":
        return
    if me.get("can_join_groups") is False:
        yield Finding(False, "the bot cannot be added to groups", "allow it with /setjoingroups at @BotFather")
    if me.get("can_read_all_group_messages") is True:
        yield Finding(True, "privacy mode is off: the bot sees all that is written in its groups")
    elif wanted.group_policy == "MentionOnly":
        yield Finding(True, "privacy mode is on: in groups the bot sees commands, mentions and answers to it")
    else:
        yield Finding(
            False,
            f"privacy mode is on, and GroupPolicy {wanted.group_policy} expects all that is written in groups",
            "turn it off with /setprivacy at @BotFather, then remove the bot from its groups and add it again",
        )


def of_webhook(info: Fields, wanted: Wanted) -> Iterator[Finding]:
    """From getWebhookInfo: whether updates come the way that the settings say."""
    url = text(info, "url")
    yield from _polling(url) if wanted.mode == "Polling" else _webhook(info, url, wanted)
    pending = whole(info, "pending_update_count") or 0
    if pending >= MANY_PENDING:
        yield Finding(False, f"{pending} updates wait to be fetched", "start the host; they are kept for 24 hours")
    else:
        yield Finding(True, f"{pending} updates wait to be fetched")


def _polling(url: str) -> Iterator[Finding]:
    if url:
        # The host alone: the path of a webhook may be a secret.
        yield Finding(
            False,
            f"a webhook is set (at {urlsplit(url).hostname}), and while it is nothing can be fetched",
            "the host removes it when it starts; if another program uses this bot, make a bot of its own for one",
        )
    else:
        yield Finding(True, "no webhook is set: updates can be fetched")


def _webhook(info: Fields, url: str, wanted: Wanted) -> Iterator[Finding]:
    if not url:
        yield Finding(False, "no webhook is set", f"start the host with its public address, or set https://…{PATH}")
        return
    if wanted.webhook_url is not None and url != wanted.webhook_url:
        yield Finding(False, f"the webhook is set to {urlsplit(url).hostname}", f"it should be {wanted.webhook_url}")
    yield from _address(wanted.webhook_url or url)
    if error := text(info, "last_error_message"):
        yield Finding(False, f"Telegram could not deliver: {error}", "check certificate, proxy and secret")
    if not set(ALLOWED_UPDATES) <= set(texts(info, "allowed_updates") or ALLOWED_UPDATES):
        yield Finding(False, "the webhook does not deliver messages and buttons", "start the host, which sets it anew")


def _address(url: str) -> Iterator[Finding]:
    parts = urlsplit(url)
    try:
        port = parts.port or 443
    except ValueError:
        port = -1
    if parts.scheme != "https":
        yield Finding(
            False, "the webhook's address is not https", "put a proxy with a certificate in front of the host"
        )
    elif port not in WEBHOOK_PORTS:
        yield Finding(False, f"Telegram does not send to port {port}", "use 443, 80, 88 or 8443")
    elif parts.path != PATH:
        yield Finding(False, f"the webhook's path is not {PATH}", "let the proxy and the address agree with it")
    else:
        yield Finding(True, f"the webhook is at {parts.hostname}")
