"""Cloud API errors, and the send result that each one means."""

from sophon.security import RedactedError, redact
from sophon_channels.backoff import backoff_delay
from sophon_channels.contract import SendAmbiguous, SendDeferred, SendResult, SendUnauthorized, SendUndeliverable

TOKEN_ERROR_CODES = frozenset({0, 10, 190, 200})
"""The access token is wrong or lacks permissions."""
NUMBER_RATE_LIMIT_CODES = frozenset({4, 80007, 130429})
"""Rate limit of the phone number."""
PAIR_RATE_LIMIT_CODE = 131056
"""Rate limit of messages to one person."""
UNKNOWN_MEDIA_CODES = frozenset({100, 131009, 131053})
"""Errors that a message meets whose media id Meta does not know (any more): an invalid parameter, or no such file."""
SERVER_ERROR_CODES = frozenset({1, 2, 131000, 131016})
"""Temporary errors of Meta."""

WINDOW_CLOSED_CODE = 131047
"""More than 24 hours have passed since the person last wrote."""

PERMANENT_ERRORS = {
    WINDOW_CLOSED_CODE: "more than 24 hours have passed since the person last wrote; WhatsApp allows only templates "
    "until they write again",
    131030: "the person is not on the list of the test number; add them in Meta's app dashboard",
    131026: "the person cannot receive it: no WhatsApp, an old version, or its terms not accepted; ask them to update "
    "WhatsApp and to write first",
    131048: "WhatsApp restricts this number, because too many of its messages were reported as spam; see its quality "
    "rating in WhatsApp Manager, and write only to people who wrote first",
    131049: "WhatsApp blocks it as marketing, because the person receives too much of that; do not send it again at "
    "once; replies are possible after a message from them",
    131051: "WhatsApp does not support this type of message",
    131053: "WhatsApp does not accept the file: its type, its size or its content",
    131021: "the recipient is the sending number itself",
}
"""Explanation of errors that no retry resolves, by code."""
CHAT_GONE_CODES = frozenset({131021, 131026, 131030, WINDOW_CLOSED_CODE, 131049})
"""The permanent errors after which nothing else can be delivered to the person either, unless they write again."""
UNREACHABLE_CODES = CHAT_GONE_CODES | {131048}
"""Errors that a further message to the same person now would meet too: `CHAT_GONE_CODES`, and the spam limit."""
HTTP_UNAVAILABLE = 503
"""HTTP status of a server or proxy that does not process requests now (RFC 9110, 15.6.4)."""
TEMPLATE_ERROR_CODES = range(132_000, 133_000)
"""Errors of message templates."""
TEMPLATE_ERROR_MESSAGE = "WhatsApp rejects the template; compare its name, language and parameters in WhatsApp Manager"


class WhatsAppApiError(RedactedError):
    """A Cloud API call that failed. `code` is Meta's error code, `status` the HTTP status; both are None if no response
    arrived; `may_have_arrived` is False if the call definitely had no effect. The message never contains the token or
    another secret.
    """

    def __init__(
        self, description: str, *, code: int | None = None, status: int | None = None, may_have_arrived: bool = True
    ):
        self.description = redact(description)
        self.code, self.status, self.may_have_arrived = code, status, may_have_arrived
        super().__init__(f"{code}: {description}" if code is not None else description)

    @property
    def is_token_error(self) -> bool:
        """Whether the token is wrong or has expired."""
        return self.status == 401 or self.code == 190

    @property
    def is_credential_error(self) -> bool:
        """Whether the token is wrong or has expired, or lacks permissions."""
        return self.is_token_error or self.code in TOKEN_ERROR_CODES

    @property
    def is_in_doubt(self) -> bool:
        """Whether the call may have taken effect: no response, or a 5xx that is not from Meta.

        An error with a code is Meta's definite answer. A 5xx without one is from a proxy (or a server that failed
        before it could say more), which may have lost Meta's response after Meta took the message.
        """
        if not self.may_have_arrived or self.code is not None:
            return False
        return self.status is None or (self.status >= 500 and self.status != HTTP_UNAVAILABLE)


def send_result_from_error(error: WhatsAppApiError, tries: int) -> SendResult:
    """Return the send result for a failed send; the number of `tries` (from 1) lengthens the delay. Pure."""
    message, code = str(error), error.code
    if error.is_credential_error:
        return SendUnauthorized(message)
    if code in NUMBER_RATE_LIMIT_CODES or (error.status == 429 and code != PAIR_RATE_LIMIT_CODE):
        return SendDeferred(message, backoff_delay(tries + 2), is_account_wide=True)
    if code == PAIR_RATE_LIMIT_CODE:
        return SendDeferred(message, backoff_delay(tries + 3))
    if error.is_in_doubt:
        return SendAmbiguous(message)
    if code in PERMANENT_ERRORS:
        return SendUndeliverable(
            f"{PERMANENT_ERRORS[code]} ({code})", code in CHAT_GONE_CODES, is_window_closed=code == WINDOW_CLOSED_CODE
        )
    # A response without a code is not from Meta: it is from a proxy, or ApiBase is wrong.
    if error.status is None or error.status >= 500 or code in SERVER_ERROR_CODES or code is None:
        return SendDeferred(message, backoff_delay(tries))
    return SendUndeliverable(f"{TEMPLATE_ERROR_MESSAGE} ({message})" if code in TEMPLATE_ERROR_CODES else message)
