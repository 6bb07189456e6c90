from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from sophon.errors import (
    AuthenticationFailed,
    BadRequest,
    BudgetExceeded,
    ContextOverflow,
    ModelError,
    ModelTimeout,
    Overloaded,
    ProviderUnavailable,
    RateLimited,
    SophonError,
)
from sophon.models.gateway.error_classification import classify_error
from sophon.models.gateway.retry_after import MAX_RETRY_AFTER_SECONDS
from tests.tables import table

NOW = datetime(2026, 1, 1, tzinfo=UTC)


class ProviderError(Exception):
    def __init__(self, text: str = "it failed", **facts: Any) -> None:
        super().__init__(text)
        for name, value in facts.items():
            setattr(self, name, value)


class APITimeoutError(Exception):
    pass


class APIConnectionError(Exception):
    pass


def of(error: Exception) -> SophonError:
    return classify_error(error, "openai", "gpt", now=NOW)


@table(
    ("status", "kind"),
    [
        (400, BadRequest),
        (401, AuthenticationFailed),
        (402, RateLimited),
        (403, AuthenticationFailed),
        (404, BadRequest),
        (408, ModelTimeout),
        (413, ContextOverflow),
        (422, BadRequest),
        (429, RateLimited),
        (500, ProviderUnavailable),
        (502, ProviderUnavailable),
        (503, ProviderUnavailable),
        (504, ModelTimeout),
        (529, Overloaded),
    ],
)
def test_a_status_decides(status: int, kind: type[ModelError]) -> None:
    assert type(of(ProviderError(status_code=status))) is kind
    assert type(of(ProviderError(status=str(status)))) is kind


@table(
    ("error", "kind"),
    [
        (TimeoutError(), ModelTimeout),
        (ConnectionResetError(), ProviderUnavailable),
        (OSError("no route to host"), ProviderUnavailable),
        (httpx.ReadTimeout("slow"), ModelTimeout),
        (httpx.ConnectError("refused"), ProviderUnavailable),
        (httpx.RemoteProtocolError("cut off"), ProviderUnavailable),
        (APITimeoutError(), ModelTimeout),
        (APIConnectionError(), ProviderUnavailable),
        (ValueError("no JSON"), ModelError),
        (ExceptionGroup("tasks", [ConnectionResetError()]), ProviderUnavailable),
    ],
)
def test_a_type_decides_where_there_is_no_status(error: Exception, kind: type[ModelError]) -> None:
    assert type(of(error)) is kind


@table(
    "text",
    [
        "This model's maximum context length is 8192 tokens",
        "context_length_exceeded",
        "prompt is too long: 210000 tokens > 200000 maximum",
        "too many tokens in the request",
        "the request exceeds the available context size",
    ],
)
def test_a_text_about_the_window_is_an_overflow(text: str) -> None:
    assert type(of(ProviderError(text, status_code=400))) is ContextOverflow
    assert type(of(ValueError(text))) is ContextOverflow


def test_too_many_tokens_per_minute_is_a_rate_limit_and_no_overflow() -> None:
    assert type(of(ProviderError("too many tokens, please wait", status_code=429))) is RateLimited


def test_a_503_that_speaks_of_overload_is_overload() -> None:
    assert type(of(ProviderError("the model is overloaded", status_code=503))) is Overloaded


@table(("text", "kind"), [("Overloaded", Overloaded), ("rate limit reached", RateLimited)])
def test_a_bare_text_decides_last(text: str, kind: type[ModelError]) -> None:
    assert type(of(ProviderError(text))) is kind


def test_an_httpx_answer_is_read_through_its_response() -> None:
    request = httpx.Request("POST", "http://localhost/")
    response = httpx.Response(429, headers={"Retry-After": "7"}, request=request)
    failure = of(httpx.HTTPStatusError("limited", request=request, response=response))
    assert isinstance(failure, RateLimited)
    assert (failure.status, failure.retry_after) == (429, 7)


@table(
    ("facts", "seconds"),
    [
        ({"retry_after": 5}, 5),
        ({"retry_after": "2.5"}, 2.5),
        ({"response": SimpleNamespace(headers={"retry-after": "9"})}, 9),
        ({"response": SimpleNamespace(headers={"Retry-After": "Thu, 01 Jan 2026 00:01:00 GMT"})}, 60),
        ({"headers": {"Retry-After": "3"}}, 3),
        ({"body": {"error": {"resets_at": 1767225720}}}, 120),
        ({"body": {"error": {"resets_in_seconds": 90}}}, 90),
        ({}, None),
    ],
)
def test_the_time_to_wait_is_found_where_providers_put_it(facts: dict[str, Any], seconds: float | None) -> None:
    failure = of(ProviderError("limited", status_code=429, **facts))
    assert isinstance(failure, RateLimited)
    assert failure.retry_after == seconds


@table(
    ("text", "seconds"),
    [
        ("Please try again in 20s.", 20),
        ("Please try again in 6m5.5s.", 365.5),
        ("try again in 250ms", 0.25),
        ("try again in 5 minutes", 300),
        ("please retry in 2 hours", 7200),
        ("weekly limit, resets in 3d4h", 3 * 86400 + 4 * 3600),
        ("the limit resets at 2026-01-02T00:00:00Z", 86400),
        ("slow down", None),
        ("try again in 99999999999999999999999999d", MAX_RETRY_AFTER_SECONDS),
        (f"try again in {'9' * 400}d", None),
        ("resets_at: 99999999999999999", None),
    ],
)
def test_the_time_to_wait_is_read_from_the_text(text: str, seconds: float | None) -> None:
    failure = of(ProviderError(text, status_code=429))
    assert isinstance(failure, RateLimited)
    assert failure.retry_after == seconds


@table("facts", [{"status_code": 402}, {"status_code": 429, "body": {"code": "insufficient_quota"}}])
def test_a_spent_quota_is_not_asked_again_soon(facts: dict[str, Any]) -> None:
    failure = of(ProviderError("pay first", **facts))
    assert isinstance(failure, RateLimited)
    assert failure.retry_after == 3600


def test_the_original_is_the_cause_and_the_facts_are_kept() -> None:
    error = ProviderError("boom", status_code=500)
    failure = of(error)
    assert isinstance(failure, ModelError)
    assert failure.__cause__ is error
    assert (failure.provider, failure.model, failure.status) == ("openai", "gpt", 500)


@table("error", [RateLimited("ours"), BudgetExceeded("Budget.Turn.Tokens", 2, 1)])
def test_errors_of_our_own_pass_as_they_are(error: SophonError) -> None:
    assert of(error) is error


def test_an_error_of_our_own_learns_where_it_happened() -> None:
    error = Overloaded("busy")
    of(error)
    assert (error.provider, error.model) == ("openai", "gpt")


@table(("given", "kept"), [(float("nan"), None), (float("inf"), None), (1e300, 31 * 86400), (5, 5)])
def test_the_wait_in_an_error_of_our_own_is_bounded_too(given: float, kept: float | None) -> None:
    error = RateLimited("ours", retry_after=given)
    of(error)
    assert error.retry_after == kept


def test_a_status_that_is_no_number_is_ignored() -> None:
    assert type(of(ProviderError("odd", status_code="²"))) is ModelError


def test_a_failed_assertion_is_never_wrapped() -> None:
    with pytest.raises(AssertionError, match="the script"):
        of(AssertionError("the script has ended"))
    with pytest.raises(AssertionError, match="inside"):
        of(ExceptionGroup("tasks", [AssertionError("inside")]))


def test_a_long_text_is_cut() -> None:
    assert len(str(of(ProviderError("x" * 100_000)))) < 2100
