from pathlib import Path

import pytest

from sophon.composition.configured_secrets import collect_secrets
from sophon.settings import Settings
from sophon_hosting.observability.log_redaction import LogRedactor, is_secret_name, redact_patterns


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("Authorization: Bearer abc.def-ghi", "abc.def-ghi"),
        ("{'Authorization': 'Basic dXNlcjpwYXNz'}", "dXNlcjpwYXNz"),
        ("sent Bearer abcdefgh.ij", "abcdefgh.ij"),
        ("GET /x?token=abcdef&y=1", "abcdef"),
        ("GET /x?access_token=abcdef", "abcdef"),
        ("OPENAI_API_KEY=abcd12345", "abcd12345"),
        ("X-Api-Key: abcdefg", "abcdefg"),
        ('{"clientSecret": "two words"}', "two words"),
        ('"{\\"token\\": \\"abcdefg\\"}"', "abcdefg"),
        ("key sk-abcdefgh12345 refused", "sk-abcdefgh12345"),
        ('{"password": "hunter22"}', "hunter22"),
        ("postgresql://ada:pw@db/sophon", "pw"),
        ("postgresql://ada:p@ss@db/sophon", "p@ss"),
        ("https://api.telegram.org/bot123456789:AAE" + "x" * 32 + "/getMe", "AAExxx"),
        ("https://api.telegram.org/file/bot12:short-one/photo", "short-one"),
        ("the key AIzaSyA1234567890 is refused", "AIzaSyA1234567890"),
        ("client_secret=abcdef", "abcdef"),
        ("sessionToken=abcdef", "abcdef"),
        ("passphrase: abcdef", "abcdef"),
        ("password: user1234", "user1234"),
        ("password: userland is large", "userland"),
        ('{"key": ["abcdef", "ghijkl"]}', "ghijkl"),
        ("token=b'abc def'", "def"),
        ("postgresql://ada:p'ss@db/sophon", "p'ss"),
    ],
)
def test_what_looks_like_a_secret_is_blacked_out(text: str, secret: str) -> None:
    assert secret not in redact_patterns(text)
    assert "[REDACTED]" in redact_patterns(text)


@pytest.mark.parametrize(
    "text",
    [
        "the key is missing",
        "3 tokens: too many",
        "no secret here",
        "task 7a95 failed",
        "basic authentication is off",
        "monkey: business",
        "http://127.0.0.1:8080/sessions?limit=20",
        "mail to ada@example.org at 12:30",
        "max_tokens=4096, total_tokens: 12345",
        "invalid token: ','",
        '{"token": null, "password": None, "n": 1}',
        "Telegram has no token: environment variable TELEGRAM_TOKEN is empty; set it to the token from @BotFather",
        "Telegram has no token: file /run/secrets/telegram is empty; set it to the token from @BotFather",
        "Telegram has no token: the settings is empty",
        "Hub.Users[0].Token: the environment variable OLGA_TOKEN is missing or empty",
        "Hub.Users[0].Token: it has 5 characters; at least 8 are required",
        "Hub.Users[1].Token: user hub:ada has the same token",
        "Providers[0].Key: unknown setting; did you mean Keys?",
        "Providers[0].Keys: a list ([...]) is expected, not a text",
        "Channels.WhatsApp.AppSecret: is required and missing",
        "Meta rejects the access token: it is wrong or has expired",
        "key of openai from environment variable OPENAI_API_KEY: missing or empty",
    ],
)
def test_prose_about_secrets_stays(text: str) -> None:
    assert redact_patterns(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('password="it\'s, a; long one" next', 'password="[REDACTED]" next'),
        ("password='say \"hi there\" now' next", "password='[REDACTED]' next"),
        (r'{"token": "ab\"cdef ghij", "n": 1}', '{"token": "[REDACTED]", "n": 1}'),
        (r"""{\"token\": \"it's, \\\"long\\\"\", \"n\": 1}""", r"""{\"token\": \"[REDACTED]\", \"n\": 1}"""),
        ("{'Authorization': 'Digest a=b, c=d', 'n': 1}", "{'Authorization': '[REDACTED]', 'n': 1}"),
    ],
)
def test_a_quoted_value_is_blacked_out_up_to_its_end(text: str, shown: str) -> None:
    assert redact_patterns(text) == shown


def test_what_stands_beside_a_secret_stays() -> None:
    assert redact_patterns("GET /x?token=abcdef&y=1") == "GET /x?token=[REDACTED]&y=1"
    assert redact_patterns("postgresql://ada:pw@db/sophon") == "postgresql://ada:[REDACTED]@db/sophon"


@pytest.mark.parametrize(
    "name",
    [
        "token",
        "API_KEY",
        "clientSecret",
        "X-Api-Key",
        "Authorization",
        "user_password",
        "sessionToken",
        "secrets",
        "credentials",
    ],
)
def test_a_field_is_known_by_its_name(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize("name", ["tokens", "input_tokens", "monkey", "keys_asked", "session_id", ""])
def test_other_fields_are_not_taken_for_secrets(name: str) -> None:
    assert not is_secret_name(name)


def test_a_value_is_found_wherever_it_stands_and_as_an_address_has_it() -> None:
    redact = LogRedactor({"correct/horse", "correct/horse/battery"})
    assert redact("it is correct/horse/battery!") == "it is [REDACTED]!"
    assert redact("GET /x?q=correct%2Fhorse") == "GET /x?q=[REDACTED]"


def test_a_value_that_is_too_short_spoils_no_line() -> None:
    assert LogRedactor({"ollama", ""})("asked ollama/llama3") == "asked ollama/llama3"


def test_all_secrets_of_the_settings_are_known(tmp_path: Path) -> None:
    (tmp_path / "bob").write_text("bobs-token\n")
    settings = Settings.from_mapping(
        {
            "Hub": {"Users": [
                {"Id": "ada", "Token": {"$env": "ADA"}}, {"Id": "bob", "Token": {"$file": str(tmp_path / "bob")}},
            ]},
            "Providers": [{"Id": "openai", "Type": "openai", "Keys": ["plain-key-1", {"$env": "SECOND"}]}],
            "Store": {"Url": "postgresql://ada:p%40ssword@db/sophon"},
            "Channels": {"Telegram": {"Token": {"$env": "BOT"}}},
        }
    )  # fmt: skip
    environment = {"ADA": "adas-token", "SECOND": "second-key", "BOT": "bots-token", "MISTRAL_API_KEY": "found-key"}
    assert collect_secrets(settings, environment) == {
        "adas-token", "bobs-token", "plain-key-1", "second-key", "p%40ssword", "p@ssword", "bots-token", "found-key",
    }  # fmt: skip
