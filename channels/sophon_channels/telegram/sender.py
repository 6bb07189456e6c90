"""Sending through the rate limiter: one Bot API call per payload, and its send result."""

import logging
from datetime import timedelta

from sophon.clock import Clock
from sophon.invisible_characters import is_blank
from sophon_channels.contract import (
    BeforeRequest,
    ButtonPress,
    ChannelHealth,
    ChatLocation,
    SendAmbiguous,
    SendDeferred,
    SendPostponed,
    SendResult,
    SendSucceeded,
    SendUnauthorized,
    SendUndeliverable,
)
from sophon_channels.errors import ChannelError, PreviewInDoubt
from sophon_channels.outbound_entry import OutboundEntry
from sophon_channels.telegram.api import request_bodies
from sophon_channels.telegram.api.client import TelegramClient
from sophon_channels.telegram.api.errors import TelegramApiError, send_result_from_error
from sophon_channels.telegram.api.rate_limiter import (
    MAX_CHAT_PAUSE_SECONDS,
    NO_DELAY,
    RateLimitDelay,
    TelegramRateLimiter,
)

log = logging.getLogger("sophon")


class TelegramSender:
    """Sender of one bot. No method waits for a limit; errors of the platform and the network are not raised."""

    def __init__(self, client: TelegramClient, clock: Clock, health: ChannelHealth) -> None:
        self._client, self._clock, self._health = client, clock, health
        self._pause_detail = ""
        self.rate_limiter = TelegramRateLimiter(clock)

    async def send(self, entry: OutboundEntry, before_request: BeforeRequest) -> SendResult:
        """Send one entry, as `Channel.send`."""
        chat, thread = request_bodies.split_chat_key(entry.chat)
        delay = self.rate_limiter.acquire_message(chat, 1 + len(entry.payload.get("more_files", ())))
        if delay.delay > NO_DELAY:
            return SendPostponed(delay.delay, delay.is_account_wide)
        await before_request()
        try:
            platform_id = await self._client.send_or_edit(entry.chat, entry.payload, is_repeat=entry.doubtful)
        except TelegramApiError as api_error:
            return self._result_of_failure(api_error, entry.refusals + 1, chat, thread)
        except ChannelError as error:
            return SendUndeliverable(str(error))
        except (KeyError, TypeError, ValueError) as error:
            return SendUndeliverable(f"the payload is not a valid Telegram message: {type(error).__name__}")
        self._count("sent")
        self._clear_pause_detail()
        return SendSucceeded(platform_id)

    async def update_preview(
        self, location: ChatLocation, text: str, preview_message_id: str | None, reply_to_message_id: str | None
    ) -> str | None:
        """Update the preview, as `Channel.update_preview`."""
        payload = request_bodies.build_preview_payload(text, preview_message_id, reply_to_message_id)
        if is_blank(payload["plain"]) or not self.rate_limiter.try_acquire_preview(location.chat):
            return preview_message_id
        try:
            return await self._client.send_or_edit(location.key, payload)
        except TelegramApiError as error:
            self._log_failure(error, location.chat)
            if isinstance(send_result_from_error(error, tries=1), SendAmbiguous):
                raise PreviewInDoubt(str(error)) from error
            return preview_message_id

    async def delete_message(self, location: ChatLocation, message_id: str) -> None:
        """Delete a message, as `DeletingChannel.delete_message`; it counts for no rate limit of messages."""
        try:
            await self._client.delete_message(location.chat, message_id)
        except TelegramApiError as error:
            self._log_failure(error, location.chat)

    async def send_typing(self, location: ChatLocation) -> None:
        """Show the typing indicator, as `Channel.send_typing`."""
        if not self.rate_limiter.try_acquire_typing(location.chat):
            return
        try:
            await self._client.send_typing(location.chat, location.thread)
        except TelegramApiError as error:
            self._log_failure(error, location.chat)

    async def send_reaction(self, location: ChatLocation, message_id: str, emoji: str) -> None:
        """React to a message, as `ReactingChannel.send_reaction`; one that was sent with a delay has no id."""
        if int(message_id) <= 0 or not self.rate_limiter.try_acquire_typing(location.chat):
            return
        try:
            await self._client.set_reaction(location.chat, message_id, emoji)
        except TelegramApiError as error:  # also if the group does not allow the emoji
            self._log_failure(error, location.chat)

    async def acknowledge_press(self, press: ButtonPress, note: str) -> None:
        """Acknowledge a press, as `Channel.acknowledge_press`; never skipped: until then the button shows a progress
        bar.
        """
        try:
            await self._client.answer_callback_query(press.press_id, note)
        except TelegramApiError as error:
            self._log_failure(error, press.location.chat)

    def _result_of_failure(self, error: TelegramApiError, tries: int, chat: str, thread: str | None) -> SendResult:
        self._count("failed")
        if error.status == 429:
            delay = self._record_refusal(chat, error)
            return SendDeferred(str(error), delay.delay, delay.is_account_wide)
        result = send_result_from_error(error, tries, thread)
        if isinstance(result, SendUnauthorized):
            self._health.state, self._health.detail = "refused", str(error)
            self._health.is_credential_rejected = True
        return result

    def _log_failure(self, error: TelegramApiError, chat: str) -> None:
        if error.status == 429:
            self._record_refusal(chat, error)
        log.info("Telegram: %s", error)

    def _record_refusal(self, chat: str, error: TelegramApiError) -> RateLimitDelay:
        """Record a 429; report a pause of the whole bot in the channel's health and in the log."""
        seconds = min(max(error.retry_after or 1, 1), MAX_CHAT_PAUSE_SECONDS)
        was_paused = self.rate_limiter.bot_pause_seconds() > 0
        delay = self.rate_limiter.record_refusal(chat, timedelta(seconds=seconds))
        pause = self.rate_limiter.bot_pause_seconds()
        if pause > 0:
            until = self._clock.now() + timedelta(seconds=pause)
            detail = f"Telegram refuses messages to several chats (429); nothing is sent until {until:%H:%M:%S} UTC"
            if self._health.detail in ("", self._pause_detail):
                self._health.detail = self._pause_detail = detail
            if not was_paused:
                log.warning("%s", detail)
        return delay

    def _clear_pause_detail(self) -> None:
        if self._pause_detail and self.rate_limiter.bot_pause_seconds() == 0:
            if self._health.detail == self._pause_detail:
                self._health.detail = ""
            self._pause_detail = ""

    def _count(self, kind: str) -> None:
        self._health.counts[kind] = self._health.counts.get(kind, 0) + 1
