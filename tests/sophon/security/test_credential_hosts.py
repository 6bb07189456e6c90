"""Host patterns of credentials: what they mean, what they overlap, what is no pattern."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sophon.security.credential_hosts import parse_host_pattern
from tests.tables import table


@table(
    ("pattern", "host", "port", "matches"),
    [
        ("api.github.com", "api.github.com", 443, True),
        ("API.GitHub.com.", "api.github.com", 443, True),
        ("api.github.com", "api.github.com", 8443, False),
        ("api.github.com:8443", "api.github.com", 8443, True),
        ("api.github.com:8443", "api.github.com", 443, False),
        ("api.github.com", "x.api.github.com", 443, False),
        ("api.github.com", "api.github.com.evil.com", 443, False),
        ("api.github.com", "apixgithub.com", 443, False),
        ("api.github.com", "xn--pi-6kc.github.com", 443, False),
        ("*.example.com", "a.example.com", 443, True),
        ("*.example.com", "a.b.example.com", 443, True),
        ("*.example.com", "example.com", 443, False),
        ("*.example.com", "evilexample.com", 443, False),
        ("*.example.com", "a.example.com.evil.com", 443, False),
        ("*.example.com:444", "a.example.com", 444, True),
        ("93.184.216.34", "93.184.216.34", 443, True),
    ],
)
def test_a_pattern_means_exactly_its_hosts(pattern: str, host: str, port: int, matches: bool) -> None:
    assert parse_host_pattern(pattern).matches(host, port) is matches


@table(
    "text",
    [
        *("", "*", "*.", "*.com", "com", "localhost", "a.*.com", "*a.example.com", "**.example.com", ".example.com"),
        *("https://a.example.com", "a.example.com/", "user@a.example.com", "a.example.com:", "a.example.com:0"),
        *("a.example.com:65536", "a.example.com:443:443", "a b.example.com", "a.example.com\n", "a..example.com"),
        *("аpi.example.com", "bücher.example", "*.1.2.3.4", "1.2.3", "0x7f.1", "[::1]", "-a.example.com"),
        f"{'a.' * 130}com",
    ],
)
def test_what_is_no_pattern_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_host_pattern(text)


@table(
    ("one", "other", "overlap"),
    [
        ("a.example.com", "A.example.com", True),
        ("a.example.com", "b.example.com", False),
        ("a.example.com", "a.example.com:8443", False),
        ("*.example.com", "a.example.com", True),
        ("*.example.com", "example.com", False),
        ("*.example.com", "*.a.example.com", True),
        ("*.example.com", "*.example.com", True),
        ("*.example.com", "*.badexample.com", False),
    ],
)
def test_patterns_overlap_if_a_host_exists_that_both_mean(one: str, other: str, overlap: bool) -> None:
    assert parse_host_pattern(one).overlaps(parse_host_pattern(other)) is overlap
    assert parse_host_pattern(other).overlaps(parse_host_pattern(one)) is overlap


@given(st.text(alphabet="ab.*:4-", max_size=20))
def test_a_pattern_never_means_a_host_that_does_not_end_with_it(text: str) -> None:
    try:
        pattern = parse_host_pattern(text)
    except ValueError:
        return
    assert not pattern.matches("api.github.com", pattern.port)
    assert not pattern.matches(f"{pattern.host}.evil", pattern.port)
    assert not pattern.matches(f"evil{pattern.host}", pattern.port)
