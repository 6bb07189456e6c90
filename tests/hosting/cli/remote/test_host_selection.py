"""Which token a command sends where."""

import pytest

from sophon.settings import Settings
from sophon_hosting.cli.remote.host_selection import find_access_token, is_configured_address

USERS = [{"Id": "olga", "Token": "token-of-olga", "Operator": True}]


def settings(host: str = "127.0.0.1", port: int = 8080) -> Settings:
    return Settings.from_mapping({"Hub": {"Host": host, "Port": port, "Users": USERS}})


@pytest.mark.parametrize(
    ("host", "port", "url", "is_own"),
    [
        ("127.0.0.1", 8080, "http://127.0.0.1:8080", True),
        ("127.0.0.1", 8080, "http://localhost:8080/", True),
        ("127.0.0.1", 8080, "http://[::1]:8080", True),
        ("0.0.0.0", 8080, "http://localhost:8080", True),
        ("::", 8080, "http://127.0.0.2:8080", True),
        ("sophon.example", 80, "http://Sophon.example", True),
        ("127.0.0.1", 8080, "http://127.0.0.1:8081", False),
        ("127.0.0.1", 8080, "http://127.0.0.1", False),
        ("127.0.0.1", 8080, "http://127.0.0.1.evil.example:8080", False),
        ("127.0.0.1", 8080, "http://localhost.evil.example:8080", False),
        ("127.0.0.1", 8080, "http://127.0.0.1:8080@evil.example:8080", False),
        ("127.0.0.1", 8080, "http://evil.example:8080", False),
        ("127.0.0.1", 8080, "http://evil.example:99999", False),
        ("10.0.0.5", 8080, "http://127.0.0.1:8080", False),
    ],
)
def test_a_url_is_the_settings_own_by_host_and_port(host: str, port: int, url: str, is_own: bool) -> None:
    assert is_configured_address(settings(host, port), url) is is_own


def test_a_token_of_the_settings_goes_to_their_own_host_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("SOPHON_TOKEN", raising=False)
    assert find_access_token(settings(), "http://localhost:8080") == "token-of-olga"
    assert capsys.readouterr().err == ""
    assert find_access_token(settings(), "http://other.example:8080") is None
    told = capsys.readouterr().err
    assert "no token is sent to http://other.example:8080" in told
    assert "set SOPHON_TOKEN" in told
    assert "token-of-olga" not in told


def test_the_token_of_the_environment_goes_where_its_owner_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOPHON_TOKEN", "token-of-the-shell")
    assert find_access_token(settings(), "http://other.example:8080") == "token-of-the-shell"
