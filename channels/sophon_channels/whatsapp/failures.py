"""What the Cloud API refuses, and what that means for a message. Source: reference/channels.md, "Error codes"."""

from datetime import timedelta

from sophon_channels.contract import Doubtful, Receipt, Refused, Undeliverable

LONGEST_BACKOFF_SECONDS = 300

TOKEN = frozenset({0, 10, 190, 200})
TOKEN_PAUSE = timedelta(hours=1)
NUMBER_BUSY = frozenset({4, 80007, 130429})
PAIR_BUSY = 131056
TROUBLE = frozenset({1, 2, 131000, 131016})

HOPELESS = {
    131047: "more than 24 hours have passed since the person last wrote; WhatsApp lets nothing but templates through "
    "until they write again",
    131030: "the person is not on the list of the test number; add them in Meta's app dashboard",
    131026: "the person cannot get it: no WhatsApp, an old version, or its terms not accepted; ask them to update "
    "WhatsApp and to write first",
    131048: "WhatsApp restricts this number, too much of what it sent was reported as spam; see its quality rating in "
    "WhatsApp Manager, and write only to who wrote first",
    131049: "WhatsApp holds it back as marketing, the person gets enough of that; do not send it again at once, a "
    "message from them lets answers through",
    131051: "WhatsApp does not know this kind of message",
    131021: "the number would write to itself",
}
TEMPLATES = range(132_000, 133_000)
TEMPLATE_FAULT = "WhatsApp does not take the template; compare its name, language and parameters in WhatsApp Manager"


class Failure(Exception):
    """A call that did not succeed. `code` is Meta's; None where no answer came, and then `went_out` tells whether the
    request may have arrived. The message never holds the token.
    """

    def __init__(self, problem: str, *, code: int | None = None, status: int | None = None, went_out: bool = True):
        self.problem, self.code, self.status, self.went_out = problem, code, status, went_out
        super().__init__(f"{code}: {problem}" if code is not None else problem)

    @property
    def refuses_token(self) -> bool:
        """The token is wrong, or has expired."""
        return self.status == 401 or self.code == 190


def receipt(failure: Failure, attempts: int) -> Receipt:
    """What a failed send is for the ledger; `attempts` (from 1) lengthens the pause. Pure."""
    error, code = str(failure), failure.code
    if failure.refuses_token or code in TOKEN:
        return Refused(error, TOKEN_PAUSE, everywhere=True)
    if code in NUMBER_BUSY or (failure.status == 429 and code != PAIR_BUSY):
        return Refused(error, backoff(attempts + 2), everywhere=True)
    if code == PAIR_BUSY:
        return Refused(error, backoff(attempts + 3))
    if failure.status is None:
        return Doubtful(error) if failure.went_out else Refused(error, backoff(attempts))
    if code in HOPELESS:
        return Undeliverable(f"{HOPELESS[code]} ({code})")
    # Without a code it was not Meta that said it: a proxy on the way, or a wrong ApiBase.
    if failure.status >= 500 or code in TROUBLE or code is None:
        return Refused(error, backoff(attempts))
    return Undeliverable(f"{TEMPLATE_FAULT} ({error})" if code in TEMPLATES else error)


def backoff(attempts: int) -> timedelta:
    """1, 2, 4, ... seconds, at most 5 minutes."""
    return timedelta(seconds=min(2 ** max(min(attempts, 20) - 1, 0), LONGEST_BACKOFF_SECONDS))
