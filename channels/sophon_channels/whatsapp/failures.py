"""Cloud API errors, and the send result that each one means. Source: reference/channels.md, "Error codes"."""

from datetime import timedelta

from sophon_channels.backoff import backoff
from sophon_channels.contract import Doubtful, Receipt, Refused, Undeliverable

TOKEN = frozenset({0, 10, 190, 200})
"""The access token is wrong or lacks permissions."""
TOKEN_PAUSE = timedelta(hours=1)
"""Delay before the next attempt after Meta rejected the token."""
NUMBER_BUSY = frozenset({4, 80007, 130429})
"""Rate limit of the phone number."""
PAIR_BUSY = 131056
"""Rate limit of messages to one person."""
TROUBLE = frozenset({1, 2, 131000, 131016})
"""Temporary errors of Meta."""

HOPELESS = {
    131047: "more than 24 hours have passed since the person last wrote; WhatsApp allows only templates until they "
    "write again",
    131030: "the person is not on the list of the test number; add them in Meta's app dashboard",
    131026: "the person cannot receive it: no WhatsApp, an old version, or its terms not accepted; ask them to update "
    "WhatsApp and to write first",
    131048: "WhatsApp restricts this number, because too many of its messages were reported as spam; see its quality "
    "rating in WhatsApp Manager, and write only to people who wrote first",
    131049: "WhatsApp blocks it as marketing, because the person receives too much of that; do not send it again at "
    "once; replies are possible after a message from them",
    131051: "WhatsApp does not support this type of message",
    131021: "the recipient is the sending number itself",
}
"""Explanation of errors that no retry resolves, by code."""
TEMPLATES = range(132_000, 133_000)
"""Errors of message templates."""
TEMPLATE_FAULT = "WhatsApp rejects the template; compare its name, language and parameters in WhatsApp Manager"


class Failure(Exception):
    """A Cloud API call that failed. `code` is Meta's error code, `status` the HTTP status; both are None if no response
    arrived, and then `went_out` states whether the request may have arrived. The message never contains the token.
    """

    def __init__(self, problem: str, *, code: int | None = None, status: int | None = None, went_out: bool = True):
        self.problem, self.code, self.status, self.went_out = problem, code, status, went_out
        super().__init__(f"{code}: {problem}" if code is not None else problem)

    @property
    def refuses_token(self) -> bool:
        """Whether the token is wrong or has expired."""
        return self.status == 401 or self.code == 190


def receipt(failure: Failure, attempts: int) -> Receipt:
    """Return the send result for a failed send; `attempts` (from 1) lengthens the delay. Pure."""
    message, code = str(failure), failure.code
    if failure.refuses_token or code in TOKEN:
        return Refused(message, TOKEN_PAUSE, everywhere=True)
    if code in NUMBER_BUSY or (failure.status == 429 and code != PAIR_BUSY):
        return Refused(message, backoff(attempts + 2), everywhere=True)
    if code == PAIR_BUSY:
        return Refused(message, backoff(attempts + 3))
    if failure.status is None:
        return Doubtful(message) if failure.went_out else Refused(message, backoff(attempts))
    if code in HOPELESS:
        return Undeliverable(f"{HOPELESS[code]} ({code})")
    # A response without a code is not from Meta: it is from a proxy, or ApiBase is wrong.
    if failure.status >= 500 or code in TROUBLE or code is None:
        return Refused(message, backoff(attempts))
    return Undeliverable(f"{TEMPLATE_FAULT} ({message})" if code in TEMPLATES else message)
