"""Which proxy and which certificates the environment names."""

import ssl

import pytest

from sophon.errors import ModelError
from sophon.models.providers.http.proxy_environment import find_proxy, parse_proxy, tls_context

VARIABLES = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"]


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.mark.parametrize(
    ("variables", "url", "proxy"),
    [
        ({}, "https://api.host/v1", None),
        ({"HTTPS_PROXY": "http://proxy:3128"}, "https://api.host/v1", "http://proxy:3128"),
        ({"https_proxy": "http://proxy:3128"}, "https://api.host/v1", "http://proxy:3128"),
        ({"HTTPS_PROXY": "http://proxy:3128"}, "http://api.host/v1", None),
        ({"HTTP_PROXY": "proxy:3128"}, "http://api.host/v1", "http://proxy:3128"),
        ({"ALL_PROXY": "http://proxy:3128"}, "https://api.host/v1", "http://proxy:3128"),
        ({"ALL_PROXY": "http://all", "HTTPS_PROXY": "https://tls"}, "https://api.host/v1", "https://tls"),
        ({"HTTPS_PROXY": "http://proxy", "NO_PROXY": "api.host"}, "https://api.host/v1", None),
        ({"HTTPS_PROXY": "http://proxy", "NO_PROXY": "x, host"}, "https://api.host/v1", None),
        ({"HTTPS_PROXY": "http://proxy", "NO_PROXY": "host:8443"}, "https://api.host:8443/v1", None),
        ({"HTTPS_PROXY": "http://proxy", "NO_PROXY": "ost"}, "https://api.host/v1", "http://proxy"),
        ({"HTTP_PROXY": "http://proxy", "NO_PROXY": "localhost,127.0.0.1,::1"}, "http://[::1]:11434/v1", None),
        ({"HTTPS_PROXY": "http://proxy", "NO_PROXY": "*"}, "https://api.host/v1", None),
    ],
)
def test_the_proxy_is_that_of_the_environment(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], url: str, proxy: str | None
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    found = find_proxy(url)
    assert (found.url if found is not None else None) == proxy


def test_user_and_password_of_a_proxy_become_a_header() -> None:
    proxy = parse_proxy("http://ada:s%40fe@proxy:3128")
    assert proxy.url == "http://proxy:3128"
    assert proxy.headers == {"Proxy-Authorization": "Basic YWRhOnNAZmU="}
    assert "YWRhOnNAZmU" not in repr(proxy)


def test_a_socks_proxy_is_refused_without_its_password() -> None:
    with pytest.raises(ModelError, match="must begin with http") as caught:
        parse_proxy("socks5://ada:hunter2@proxy:1080")
    assert "hunter2" not in str(caught.value)


def test_a_file_of_certificates_replaces_the_usual_ones(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    missing = f"{tmp_path}/none.pem"
    monkeypatch.setenv("SSL_CERT_FILE", missing)
    tls_context.cache_clear()
    with pytest.raises(FileNotFoundError):
        tls_context()
    monkeypatch.delenv("SSL_CERT_FILE")
    assert tls_context().verify_mode is ssl.CERT_REQUIRED
