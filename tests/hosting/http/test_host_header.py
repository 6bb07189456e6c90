import pytest

from sophon_hosting.http.middlewares import host_name_from_header, is_known_host


@pytest.mark.parametrize(
    "asked",
    ["localhost", "localhost:8080", "LOCALHOST", "127.0.0.1", "127.0.0.1:1", "[::1]:8080", "10.1.2.3", "sophon.lan",
     "sophon.lan:8443", "agent.example.org", "bound.host"],
)  # fmt: skip
def test_names_of_the_host_are_known(asked: str) -> None:
    assert is_known_host(asked, "bound.host", ["sophon.lan", "https://agent.example.org"])


@pytest.mark.parametrize(
    "asked",
    ["", "evil.com", "localhost.evil.com", "127.0.0.1.evil.com", "evil.com:8080", "sophon.lan.evil.com", "a b", "x@y",
     "localhost/evil", "[::1", "localhost:99999", "2130706433"],
)  # fmt: skip
def test_other_names_are_not(asked: str) -> None:
    assert not is_known_host(asked, "127.0.0.1", ["sophon.lan", "https://agent.example.org"])


@pytest.mark.parametrize(("header", "name"), [("A:1", "a"), ("[::1]:1", "::1"), ("a:b", None), ("a?b", None)])
def test_a_name_is_what_stands_before_the_port(header: str, name: str | None) -> None:
    assert host_name_from_header(header) == name
