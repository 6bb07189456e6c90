"""Which web pages may connect."""

import pytest
from pydantic import ValidationError

from sophon_hosting.client_api.allowed_origins import is_allowed_origin
from sophon_hosting.settings.hub import HubSettings


@pytest.mark.parametrize(
    ("origin", "allowed", "let_in"),
    [
        (None, (), True),
        ("", (), False),
        ("", ("*",), False),
        ("http://sophon.home:8080", (), True),
        ("https://sophon.home:8080", (), True),
        ("HTTP://sophon.home:8080", (), False),
        ("http://SOPHON.home:8080", (), True),
        ("http://sophon.home", (), False),
        ("http://sophon.home:8081", (), False),
        ("http://evil.example", (), False),
        ("http://sophon.home.evil.example:8080", (), False),
        ("http://evil.example/sophon.home:8080", (), False),
        ("http://sophon.home:8080@evil.example", (), False),
        ("null", (), False),
        ("file://", (), False),
        ("chrome-extension://sophon.home:8080", (), False),
        ("http://[::1", (), False),
        ("https://chat.example", ("https://chat.example",), True),
        ("https://chat.example", ("https://CHAT.example/",), True),
        ("http://chat.example", ("https://chat.example",), False),
        ("http://sophon.home:8080", ("https://chat.example",), True),
        ("http://evil.example", ("*",), True),
    ],
)
def test_a_page_of_the_host_or_of_the_settings_may(origin: str | None, allowed: tuple[str, ...], let_in: bool) -> None:
    assert is_allowed_origin(origin, {"HTTP_HOST": "sophon.home:8080"}, allowed) is let_in


@pytest.mark.parametrize(("origin", "let_in"), [("https://chat.example", True), ("http://127.0.0.1:8080", False)])
def test_behind_a_proxy_its_name_counts(origin: str, let_in: bool) -> None:
    environ = {"HTTP_HOST": "127.0.0.1:8080", "HTTP_X_FORWARDED_HOST": "chat.example"}
    assert is_allowed_origin(origin, environ, ()) is let_in


def test_the_usual_port_need_not_be_named() -> None:
    assert is_allowed_origin("https://chat.example", {"HTTP_HOST": "chat.example:443"}, ())


def test_a_request_without_a_host_has_no_page_of_its_own() -> None:
    assert not is_allowed_origin("http://evil.example", {}, ())


USER = {"Id": "ada", "Token": {"$env": "TOKEN_OF_ADA"}}


@pytest.mark.parametrize(
    ("hub", "words"),
    [
        ({"AllowedOrigins": ["*"]}, "each would act as the local user"),
        ({"AllowedOrigins": ["*"], "Host": "0.0.0.0", "Users": [USER]}, "is not a loopback address"),
        ({"AllowedOrigins": ["chat.example"]}, "'chat.example' is not an origin"),
        ({"AllowedOrigins": ["https://chat.example/chat"]}, "is not an origin"),
    ],
)
def test_settings_that_would_let_anybody_or_nobody_in_are_refused(hub: dict, words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        HubSettings.model_validate(hub)


@pytest.mark.parametrize("origin", ["*", "https://chat.example", "http://127.0.0.1:3000", "https://chat.example/"])
def test_with_users_on_the_own_machine_any_origin_may_be_allowed(origin: str) -> None:
    assert HubSettings.model_validate({"AllowedOrigins": [origin], "Users": [USER]}).allowed_origins == (origin,)
