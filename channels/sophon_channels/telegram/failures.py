"""What goes wrong between a client and the Bot API, and what that means for a message that was to be sent."""

from datetime import timedelta

from sophon_channels.contract import Doubtful, Migrated, Receipt, Refused, Undeliverable

LONGEST_BACKOFF_SECONDS = 300
REFUSED_TOKEN_SECONDS = 3600

EDIT = "editMessageText"


class Failure(Exception):
    """A call that did not succeed.

    `status` is Telegram's error code; None where no answer came, and then `went_out` tells whether the request may have
    arrived. `retry_after` is in seconds. The message never holds the token.
    """

    def __init__(self, method: str, problem: str, *, status: int | None = None, went_out: bool = True) -> None:
        self.method, self.problem, self.status, self.went_out = method, problem, status, went_out
        self.retry_after: int | None = None
        self.migrate_to: int | None = None
        code = f"{status}: " if status else ""
        super().__init__(f"{method}: {code}{problem}")

    @property
    def refuses_token(self) -> bool:
        """401; and 404, which Telegram answers to a token of a wrong shape."""
        return self.status in {401, 404}

    @property
    def is_busy(self) -> bool:
        """Telegram has trouble of its own."""
        return self.status is not None and self.status >= 500

    def says(self, *words: str) -> bool:
        """Whether it is a 400 with one of these in its description."""
        problem = self.problem.casefold()
        return self.status == 400 and any(word in problem for word in words)


def is_unreadable(failure: Failure) -> bool:
    """The HTML is refused, not the message: its plain text may pass."""
    return failure.says("can't parse entities", "entities_too_long", "message is too long")


def is_unchanged(failure: Failure) -> bool:
    """An edit that changes nothing."""
    return failure.says("message is not modified")


def is_not_editable(failure: Failure) -> bool:
    """The message that was to be edited is gone, or too old."""
    return failure.says("message to edit not found", "message can't be edited", "message_id_invalid")


def is_no_photo(failure: Failure) -> bool:
    """The picture is refused as a photo (its sides, its content): as a document it may pass."""
    return failure.says("photo_", "image_process_failed")


def receipt(failure: Failure, attempts: int, thread: str | None = None) -> Receipt:
    """What a failed send is for the ledger; `attempts` (from 1) lengthens the pause. 429 is the gate's. Pure."""
    if failure.migrate_to is not None:
        return Migrated(f"{failure.migrate_to}/{thread}" if thread else str(failure.migrate_to))
    error = str(failure)
    if failure.status is None and failure.method == EDIT:
        return Refused(error, backoff(attempts))  # an edit that is made twice is made once
    if failure.status is None:
        return Doubtful(error) if failure.went_out else Refused(error, backoff(attempts))
    if failure.status == 429:
        return Refused(error, timedelta(seconds=failure.retry_after or 1))
    if failure.refuses_token:
        return Refused(error, timedelta(seconds=REFUSED_TOKEN_SECONDS), everywhere=True)
    if failure.is_busy:
        return Refused(error, backoff(attempts))
    return Undeliverable(error, chat_is_gone=failure.status == 403 or failure.says("chat not found"))


def backoff(attempts: int) -> timedelta:
    """1, 2, 4, ... seconds, at most 5 minutes."""
    return timedelta(seconds=min(2 ** max(min(attempts, 20) - 1, 0), LONGEST_BACKOFF_SECONDS))
