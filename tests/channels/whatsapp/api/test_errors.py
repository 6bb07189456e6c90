from datetime import timedelta

import pytest

from sophon_channels.backoff import MAX_BACKOFF_SECONDS
from sophon_channels.contract import SendAmbiguous, SendDeferred, SendResult, SendUnauthorized, SendUndeliverable
from sophon_channels.whatsapp.api.errors import (
    CHAT_GONE_CODES,
    PERMANENT_ERRORS,
    WhatsAppApiError,
    send_result_from_error,
)


def failed(code: int | None, status: int | None = 400, *, went_out: bool = True, attempts: int = 1) -> SendResult:
    return send_result_from_error(
        WhatsAppApiError("details", code=code, status=status, may_have_arrived=went_out), attempts
    )


@pytest.mark.parametrize("code", sorted(PERMANENT_ERRORS))
def test_what_will_never_arrive_is_told_in_words_with_its_code(code: int) -> None:
    for status in (400, 403, 500):
        assert failed(code, status) == SendUndeliverable(
            f"{PERMANENT_ERRORS[code]} ({code})", is_chat_gone=code in CHAT_GONE_CODES, is_window_closed=code == 131047
        )


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (131047, "until they write again"),
        (131030, "add them in Meta's app dashboard"),
        (131026, "ask them to"),
        (131048, "quality rating"),
        (131049, "do not send it again at once"),
        (132000, "WhatsApp Manager"),
        (132001, "WhatsApp Manager"),
        (132068, "WhatsApp Manager"),
    ],
)
def test_it_says_what_to_do(code: int, said: str) -> None:
    outcome = failed(code)
    assert isinstance(outcome, SendUndeliverable)
    assert said in outcome.error


@pytest.mark.parametrize(("code", "status"), [(190, 400), (190, 401), (None, 401), (0, 401), (10, 403), (200, 403)])
def test_a_refused_token_is_no_delay_but_a_credential_to_replace(code: int | None, status: int) -> None:
    assert isinstance(failed(code, status), SendUnauthorized)


@pytest.mark.parametrize(
    ("code", "status", "everywhere"),
    [
        (130429, 429, True),
        (80007, 400, True),
        (4, 400, True),
        (None, 429, True),
        (131056, 400, False),
        (131056, 429, False),
    ],
)
def test_a_limit_holds_whom_it_is_about(code: int | None, status: int, everywhere: bool) -> None:
    outcome = failed(code, status)
    assert isinstance(outcome, SendDeferred)
    assert outcome.is_account_wide is everywhere
    assert outcome.retry_after > timedelta(seconds=1)


@pytest.mark.parametrize(
    ("code", "status"), [(131016, 500), (2, 503), (131000, 400), (None, 503), (None, 404), (None, 407), (None, 302)]
)
def test_trouble_at_meta_and_the_words_of_a_proxy_lose_nothing(code: int | None, status: int) -> None:
    assert isinstance(failed(code, status), SendDeferred)


@pytest.mark.parametrize("status", [500, 502, 504, 520])
def test_a_bare_5xx_is_a_doubt_because_a_proxy_may_have_lost_the_answer(status: int) -> None:
    assert isinstance(failed(None, status), SendAmbiguous)
    assert isinstance(failed(None, status, went_out=False), SendDeferred)


def test_no_answer_is_a_doubt_only_where_the_request_went_out() -> None:
    assert failed(None, None) == SendAmbiguous("details")
    assert failed(None, None, went_out=False) == SendDeferred("details", timedelta(seconds=1))


def test_an_error_that_nobody_knows_is_final_and_told_as_it_came() -> None:
    assert failed(100) == SendUndeliverable("100: details")


def test_pauses_double_and_end_somewhere() -> None:
    pauses = [
        outcome.retry_after for n in range(1, 40) if isinstance(outcome := failed(2, 503, attempts=n), SendDeferred)
    ]
    assert pauses[:4] == [timedelta(seconds=seconds) for seconds in (1, 2, 4, 8)]
    assert max(pauses) == timedelta(seconds=MAX_BACKOFF_SECONDS)
