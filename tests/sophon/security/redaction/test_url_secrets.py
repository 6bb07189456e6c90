"""What a URL hides when it is shown, and what of it is a secret."""

from sophon.security import hide_url_secrets, query_secrets, redact, url_secrets
from sophon.settings import Settings
from tests.tables import table


@table(
    ("url", "secrets"),
    [
        ("postgresql://db/sophon", []),
        ("postgresql://ada:p%40ss@db/sophon", ["p%40ss", "p@ss"]),
        ("postgresql://db/sophon?sslmode=require&sslpassword=hunter%2F22", ["hunter%2F22", "hunter/22"]),
        ("https://host/v1?api-key=abc&limit=5", ["abc"]),
        ("https://host/v1?sig=a&page_token=b&author=c", ["a", "b"]),
        ("http://[broken", ["http://[broken"]),
    ],
)
def test_password_and_secret_parameters_are_the_secrets_of_a_url(url: str, secrets: list[str]) -> None:
    assert list(dict.fromkeys(url_secrets(url))) == secrets


@table(
    ("url", "shown"),
    [
        ("https://host/v1", "https://host/v1"),
        ("https://host/v1?key=abc", "https://host/v1?***"),
        ("https://ada:pw@host/v1#x", "https://***@host/v1?***"),
        ("sqlite:///data/sophon.db", "sqlite:///data/sophon.db"),
        ("ada:pw@db", "***"),
    ],
)
def test_a_url_is_shown_without_user_query_and_fragment(url: str, shown: str) -> None:
    assert hide_url_secrets(url) == shown


@table(
    ("url", "found"),
    [
        ("https://h/v1?api-version=2024-10-21", []),
        ("https://h/v1?key=a%2Fb", ["a%2Fb", "a/b"]),
        ("https://h/v1?x=abcdefgh12345678", ["abcdefgh12345678"] * 2),
        ("https://h/v1?abcdefgh12345678", ["abcdefgh12345678"] * 2),
        ("https://h/v1", []),
    ],
)
def test_the_values_of_a_query_that_may_be_secrets(url: str, found: list[str]) -> None:
    assert list(query_secrets(url)) == found


def test_the_query_of_an_address_in_the_settings_is_redacted_in_errors() -> None:
    url = "https://h/v1?deployment=Zq8Xw7Cv6Bn5Mm4Lk3"
    Settings.from_mapping({"providers": [{"id": "p", "type": "openai", "base_url": url, "models": ["m"]}]})
    assert redact("failed: deployment Zq8Xw7Cv6Bn5Mm4Lk3") == "failed: deployment [REDACTED]"
