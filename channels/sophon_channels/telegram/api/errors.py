"""Bot API errors, and the send result that each one means."""

from datetime import timedelta

from sophon.security import RedactedError, redact
from sophon_channels.backoff import backoff_delay
from sophon_channels.contract import (
    SendAmbiguous,
    SendChatMigrated,
    SendDeferred,
    SendResult,
    SendUnauthorized,
    SendUndeliverable,
)

EDIT_METHOD = "editMessageText"
"""The Bot API method that edits a message."""

CHAT_GONE_PHRASES = (
    "chat not found",
    "peer_id_invalid",
    "user is deactivated",
    "bot is not a member",
    "no rights to send",
    "not enough rights to send",
    "chat_write_forbidden",
)
"""Descriptions of a 400 after which nothing else can be delivered to the chat either."""


class TelegramApiError(RedactedError):
    """A Bot API call that failed.

    `status` is Telegram's error code, or the HTTP status of a proxy's 5xx or 413; None if no such answer arrived.
    `may_have_arrived` states whether the call may have taken effect. `retry_after` is in seconds, `migrated_chat_id`
    the chat's new id. The message never contains the token or another secret.
    """

    def __init__(
        self, method: str, description: str, *, status: int | None = None, may_have_arrived: bool = True
    ) -> None:
        self.method, self.description, self.status, self.may_have_arrived = (
            method,
            redact(description),
            status,
            may_have_arrived,
        )
        self.retry_after: int | None = None
        self.migrated_chat_id: int | None = None
        code = f"{status}: " if status else ""
        super().__init__(f"{method}: {code}{description}")

    @property
    def is_token_error(self) -> bool:
        """Whether the token is invalid: 401, or 404, which Telegram answers to a malformed token."""
        return self.status in {401, 404}

    @property
    def is_server_error(self) -> bool:
        """Whether Telegram has an internal error (5xx)."""
        return self.status is not None and self.status >= 500

    def is_bad_request_with(self, *phrases: str) -> bool:
        """Return whether this is a 400 whose description contains one of the phrases."""
        problem = self.description.casefold()
        return self.status == 400 and any(word in problem for word in phrases)


def is_parse_error(error: TelegramApiError) -> bool:
    """Return whether Telegram rejects the HTML; the plain text may be accepted."""
    return error.is_bad_request_with("can't parse entities", "entities_too_long", "message is too long")


def is_empty_text(error: TelegramApiError) -> bool:
    """Return whether Telegram sees nothing in the text; what it trims is not documented."""
    return error.is_bad_request_with("text must be non-empty", "message text is empty")


def is_not_modified(error: TelegramApiError) -> bool:
    """Return whether an edit failed because it changes nothing."""
    return error.is_bad_request_with("message is not modified")


def is_not_editable(error: TelegramApiError) -> bool:
    """Return whether the message to edit is gone or too old."""
    return error.is_bad_request_with("message to edit not found", "message can't be edited", "message_id_invalid")


def is_topic_gone(error: TelegramApiError) -> bool:
    """Return whether the topic of a forum is deleted or closed; the chat itself may be there."""
    return error.is_bad_request_with("message thread not found", "topic_closed", "topic_deleted")


def is_photo_rejected(error: TelegramApiError) -> bool:
    """Return whether the image is rejected as a photo (dimensions, content); as a document it may be accepted."""
    return error.is_bad_request_with("photo_", "image_process_failed")


def is_media_rejected(error: TelegramApiError) -> bool:
    """Return whether a file of an album is rejected as a photo, video or audio; as documents it may be accepted."""
    return is_photo_rejected(error) or error.is_bad_request_with("video_", "media_", "audio_", "can't use the media")


def is_file_unknown(error: TelegramApiError) -> bool:
    """Return whether a file_id that was sent is none, or not any more."""
    return error.is_bad_request_with("wrong file", "wrong remote file", "file reference")


def send_result_from_error(error: TelegramApiError, tries: int, thread: str | None = None) -> SendResult:
    """Return the send result for a failed send; the number of `tries` (from 1) lengthens the delay. Pure.

    For a 429 the caller asks the rate limiter first.
    """
    if error.migrated_chat_id is not None:
        return SendChatMigrated(f"{error.migrated_chat_id}/{thread}" if thread else str(error.migrated_chat_id))
    message = str(error)
    if error.status is None or error.is_server_error:
        is_in_doubt = error.may_have_arrived and error.method != EDIT_METHOD  # edits are idempotent
        return SendAmbiguous(message) if is_in_doubt else SendDeferred(message, backoff_delay(tries))
    if error.status == 429:
        return SendDeferred(message, timedelta(seconds=error.retry_after or 1))
    if error.is_token_error:
        return SendUnauthorized(message)
    is_chat_gone = error.status == 403 or error.is_bad_request_with(*CHAT_GONE_PHRASES)
    return SendUndeliverable(message, is_chat_gone=is_chat_gone)
