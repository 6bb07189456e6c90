"""Which failed attempts have cost something."""

from sophon.errors import BadRequest, ModelError, ModelTimeout, ProviderUnavailable, RateLimited
from sophon.messages import Usage
from sophon.models.gateway.attempt_accounting import has_cost
from sophon.models.model import AttemptOutput
from tests.tables import table


def caused(error: ModelError, cause: Exception) -> ModelError:
    error.__cause__ = cause
    return error


class ConnectTimeout(Exception):
    pass


class RemoteProtocolError(Exception):
    pass


@table(
    ("failure", "output", "expected"),
    [
        (ModelTimeout("no data was received"), AttemptOutput(), True),
        (ModelTimeout("no data was received"), None, True),
        (caused(ModelTimeout("connecting"), ConnectTimeout()), AttemptOutput(), False),
        (ModelTimeout("gateway time-out", status=504), AttemptOutput(), False),
        (caused(ProviderUnavailable("cut"), RemoteProtocolError()), AttemptOutput(), True),
        (caused(ProviderUnavailable("reset"), ConnectionResetError()), AttemptOutput(), True),
        (caused(ProviderUnavailable("refused"), ConnectionRefusedError()), AttemptOutput(), False),
        (caused(ProviderUnavailable("?"), OSError()), AttemptOutput(), False),
        (ProviderUnavailable("down", status=503), AttemptOutput(), False),
        (RateLimited("slow down", status=429), AttemptOutput(has_begun=True), False),
        (RateLimited("slow down", status=429), AttemptOutput(usage=Usage(1, 1)), True),
        (BadRequest("the content filter"), AttemptOutput(has_begun=True), True),
        (ProviderUnavailable("cut", status=502), AttemptOutput(pieces=['{"a":']), True),
        (ValueError("a defect"), AttemptOutput(), False),
        (ModelError("no response of the right type"), AttemptOutput(has_begun=True), True),
    ],
)
def test_an_attempt_costs_if_the_provider_may_have_begun(
    failure: Exception, output: AttemptOutput | None, expected: bool
) -> None:
    assert has_cost(failure, output, "") is expected


def test_streamed_text_always_costs() -> None:
    assert has_cost(ProviderUnavailable("down", status=503), None, "Good")


def test_the_causes_of_an_error_may_form_a_ring() -> None:
    one, two = ProviderUnavailable("one"), ProviderUnavailable("two")
    one.__cause__, two.__cause__ = two, one
    assert not has_cost(one, None, "")
    assert not has_cost(caused(ProviderUnavailable("x"), OSError()), None, "")
