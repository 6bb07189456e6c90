"""Self-test of a bot for `sophon doctor`: detects common configuration mistakes in Telegram's answers. Pure."""

from collections.abc import Iterator
from typing import Literal
from urllib.parse import urlsplit

from sophon._python.lazy_dataclass import dataclass
from sophon_channels.contract import SelfTestResult
from sophon_channels.json_fields import JsonObject, get_int, get_text, get_texts
from sophon_channels.telegram.api.errors import TelegramApiError
from sophon_channels.telegram.api.request_bodies import ALLOWED_UPDATES
from sophon_channels.telegram.webhook import WEBHOOK_PATH

WEBHOOK_PORTS = frozenset({443, 80, 88, 8443})
"""The ports that Telegram delivers to (setWebhook)."""

MANY_PENDING_UPDATES = 100
"""From this number of pending updates on, the check fails."""


@dataclass(frozen=True, slots=True)
class ExpectedSetup:
    """Expected configuration. `webhook_url` is the public URL, None if the host does not know it."""

    mode: Literal["Polling", "Webhook"]
    group_policy: Literal["MentionOnly", "All", "AllowList", "Disabled"]
    webhook_url: str | None = None
    path: str = WEBHOOK_PATH
    has_mention_patterns: bool = False


def result_from_error(error: TelegramApiError, origin: str) -> SelfTestResult:
    """Return the result for a failed getMe; `origin` is where the token is configured."""
    if error.is_token_error:
        return SelfTestResult(False, "Telegram rejects the token", f"copy it from @BotFather again into {origin}")
    return SelfTestResult(False, f"Telegram cannot be reached ({error})", "check the network, the proxy and ApiBase")


def check_bot(bot_user: JsonObject, expected: ExpectedSetup) -> Iterator[SelfTestResult]:
    """Check the answer of getMe: the bot's name, and whether it can read the messages that the settings expect."""
    yield SelfTestResult(True, f"the token belongs to @{get_text(bot_user, 'username')}")
    if expected.group_policy == "Disabled":
        return
    if bot_user.get("can_join_groups") is False:
        yield SelfTestResult(False, "the bot cannot be added to groups", "allow it with /setjoingroups in @BotFather")
    if bot_user.get("can_read_all_group_messages") is True:
        yield SelfTestResult(True, "privacy mode is off: the bot sees all messages in its groups")
    elif expected.group_policy == "MentionOnly" and not expected.has_mention_patterns:
        yield SelfTestResult(True, "privacy mode is on: in groups the bot sees commands, mentions and replies to it")
    else:
        patterns = expected.group_policy == "MentionOnly"
        wish = "MentionPatterns needs" if patterns else f"GroupPolicy {expected.group_policy} expects"
        yield SelfTestResult(
            False,
            f"privacy mode is on, and {wish} all messages in groups",
            "turn it off with /setprivacy in @BotFather, then remove the bot from its groups and add it again",
        )


def check_webhook(info: JsonObject, expected: ExpectedSetup) -> Iterator[SelfTestResult]:
    """Check the answer of getWebhookInfo: whether updates are delivered in the configured mode."""
    url = get_text(info, "url")
    yield from _check_polling(url) if expected.mode == "Polling" else _check_webhook_delivery(info, url, expected)
    pending = get_int(info, "pending_update_count") or 0
    if pending >= MANY_PENDING_UPDATES:
        yield SelfTestResult(
            False, f"{pending} updates are pending", "start the host; Telegram keeps updates for 24 hours"
        )
    else:
        yield SelfTestResult(True, f"{pending} updates are pending")


def _check_polling(url: str) -> Iterator[SelfTestResult]:
    if url:
        # Only the host name: the path of a webhook may be a secret.
        yield SelfTestResult(
            False,
            f"a webhook is set (at {urlsplit(url).hostname}), which prevents polling",
            "the host removes it when it starts; if another program uses this bot, create a second bot for it",
        )
    else:
        yield SelfTestResult(True, "no webhook is set: updates can be polled")


def _check_webhook_delivery(info: JsonObject, url: str, expected: ExpectedSetup) -> Iterator[SelfTestResult]:
    if not url:
        yield SelfTestResult(
            False,
            "no webhook is set",
            f"start the host with its public URL, or set the webhook to https://…{expected.path}",
        )
        return
    if expected.webhook_url is not None and url != expected.webhook_url:
        yield SelfTestResult(
            False, f"the webhook is set to {urlsplit(url).hostname}", f"it should be {expected.webhook_url}"
        )
    yield from _check_url(expected.webhook_url or url, expected.path)
    if error := get_text(info, "last_error_message"):
        yield SelfTestResult(False, f"Telegram could not deliver: {error}", "check certificate, proxy and secret")
    if not set(ALLOWED_UPDATES) <= set(get_texts(info, "allowed_updates") or ALLOWED_UPDATES):
        yield SelfTestResult(
            False, "the webhook does not deliver messages and button presses", "start the host, which sets it again"
        )


def _check_url(url: str, path: str) -> Iterator[SelfTestResult]:
    parts = urlsplit(url)
    try:
        port = parts.port or 443
    except ValueError:
        port = -1
    if parts.scheme != "https":
        yield SelfTestResult(
            False, "the webhook URL is not https", "put a proxy with a certificate in front of the host"
        )
    elif port not in WEBHOOK_PORTS:
        yield SelfTestResult(False, f"Telegram does not deliver to port {port}", "use 443, 80, 88 or 8443")
    elif parts.path != path:
        yield SelfTestResult(False, f"the path of the webhook URL is not {path}", "correct the URL, or the proxy")
    else:
        yield SelfTestResult(True, f"the webhook is at {parts.hostname}")
