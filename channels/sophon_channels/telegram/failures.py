"""Bot API errors, and the send result that each one means."""

from datetime import timedelta

from sophon_channels.backoff import backoff
from sophon_channels.contract import Doubtful, Migrated, Receipt, Refused, Undeliverable

REFUSED_TOKEN_SECONDS = 3600
"""Delay before the next attempt after Telegram rejected the token."""

EDIT = "editMessageText"
"""The Bot API method that edits a message."""


class Failure(Exception):
    """A Bot API call that failed.

    `status` is Telegram's error code, None if no answer arrived; then `went_out` states whether the request may have
    arrived. `retry_after` is in seconds, `migrate_to` the chat's new id. The message never contains the token.
    """

    def __init__(self, method: str, problem: str, *, status: int | None = None, went_out: bool = True) -> None:
        self.method, self.problem, self.status, self.went_out = method, problem, status, went_out
        self.retry_after: int | None = None
        self.migrate_to: int | None = None
        code = f"{status}: " if status else ""
        super().__init__(f"{method}: {code}{problem}")

    @property
    def refuses_token(self) -> bool:
        """Whether the token is invalid: 401, or 404, which Telegram answers to a malformed token."""
        return self.status in {401, 404}

    @property
    def is_busy(self) -> bool:
        """Whether Telegram has an internal error (5xx)."""
        return self.status is not None and self.status >= 500

    def says(self, *words: str) -> bool:
        """Return whether this is a 400 whose description contains one of the phrases."""
        problem = self.problem.casefold()
        return self.status == 400 and any(word in problem for word in words)


def is_unreadable(failure: Failure) -> bool:
    """Return whether Telegram rejects the HTML; the plain text may be accepted."""
    return failure.says("can't parse entities", "entities_too_long", "message is too long")


def is_unchanged(failure: Failure) -> bool:
    """Return whether an edit failed because it changes nothing."""
    return failure.says("message is not modified")


def is_not_editable(failure: Failure) -> bool:
    """Return whether the message to edit is gone or too old."""
    return failure.says("message to edit not found", "message can't be edited", "message_id_invalid")


def is_no_photo(failure: Failure) -> bool:
    """Return whether the image is rejected as a photo (dimensions, content); as a document it may be accepted."""
    return failure.says("photo_", "image_process_failed")


def receipt(failure: Failure, attempts: int, thread: str | None = None) -> Receipt:
    """Return the send result for a failed send; `attempts` (from 1) lengthens the delay. Pure.

    For a 429 the caller asks the rate limiter first.
    """
    if failure.migrate_to is not None:
        return Migrated(f"{failure.migrate_to}/{thread}" if thread else str(failure.migrate_to))
    message = str(failure)
    if failure.status is None and failure.method == EDIT:
        return Refused(message, backoff(attempts))  # edits are idempotent
    if failure.status is None:
        return Doubtful(message) if failure.went_out else Refused(message, backoff(attempts))
    if failure.status == 429:
        return Refused(message, timedelta(seconds=failure.retry_after or 1))
    if failure.refuses_token:
        return Refused(message, timedelta(seconds=REFUSED_TOKEN_SECONDS), everywhere=True)
    if failure.is_busy:
        return Refused(message, backoff(attempts))
    return Undeliverable(message, chat_is_gone=failure.status == 403 or failure.says("chat not found"))
