"""Bot API errors, and the send result that each one means."""

from datetime import timedelta

from sophon.security import RedactedError, redact
from sophon_channels.backoff import backoff_delay
from sophon_channels.contract import SendAmbiguous, SendChatMigrated, SendDeferred, SendResult, SendUndeliverable

TOKEN_RETRY_SECONDS = 3600
"""Delay before the next attempt after Telegram rejected the token."""

EDIT_METHOD = "editMessageText"
"""The Bot API method that edits a message."""


class TelegramApiError(RedactedError):
    """A Bot API call that failed.

    `status` is Telegram's error code, None if no answer arrived; then `may_have_arrived` states whether the request may
    have arrived. `retry_after` is in seconds, `migrated_chat_id` the chat's new id. The message never contains the
    token or another secret.
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


def send_result_from_error(error: TelegramApiError, attempts: int, thread: str | None = None) -> SendResult:
    """Return the send result for a failed send; `attempts` (from 1) lengthens the delay. Pure.

    For a 429 the caller asks the rate limiter first.
    """
    if error.migrated_chat_id is not None:
        return SendChatMigrated(f"{error.migrated_chat_id}/{thread}" if thread else str(error.migrated_chat_id))
    message = str(error)
    if error.status is None and error.method == EDIT_METHOD:
        return SendDeferred(message, backoff_delay(attempts))  # edits are idempotent
    if error.status is None:
        return SendAmbiguous(message) if error.may_have_arrived else SendDeferred(message, backoff_delay(attempts))
    if error.status == 429:
        return SendDeferred(message, timedelta(seconds=error.retry_after or 1))
    if error.is_token_error:
        return SendDeferred(message, timedelta(seconds=TOKEN_RETRY_SECONDS), is_account_wide=True)
    if error.is_server_error:
        return SendDeferred(message, backoff_delay(attempts))
    return SendUndeliverable(message, is_chat_gone=error.status == 403 or error.is_bad_request_with("chat not found"))
