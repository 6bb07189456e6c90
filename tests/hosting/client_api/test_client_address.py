import pytest
from aiohttp.test_utils import make_mocked_request
from multidict import CIMultiDict

from sophon_hosting.client_api.client_address import TrustedProxies, address_group

PROXIES = TrustedProxies(["127.0.0.1/32", "10.0.0.0/8"])

CASES = [
    ("192.0.2.1", "", "192.0.2.1"),
    ("192.0.2.1", "203.0.113.9", "192.0.2.1"),
    ("127.0.0.1", "", "127.0.0.1"),
    ("127.0.0.1", "203.0.113.9", "203.0.113.9"),
    ("127.0.0.1", "198.51.100.7, 203.0.113.9, 10.1.2.3", "203.0.113.9"),
    ("::ffff:127.0.0.1", "203.0.113.9", "203.0.113.9"),
    ("127.0.0.1", "nonsense", "127.0.0.1"),
    ("127.0.0.1", "10.1.1.1,", "127.0.0.1"),
    ("127.0.0.1", "2001:db8:1:2:3::4", "2001:db8:1:2::/64"),
]


@pytest.mark.parametrize(("peer", "forwarded_for", "expected"), CASES)
def test_only_what_a_trusted_proxy_has_added_is_believed(peer: str, forwarded_for: str, expected: str) -> None:
    assert PROXIES.forwarded_address(peer, forwarded_for) == expected


def test_a_line_of_the_client_above_that_of_the_proxy_is_not_believed() -> None:
    lines = CIMultiDict([("X-Forwarded-For", "198.51.100.7"), ("X-Forwarded-For", "203.0.113.9")])
    request = make_mocked_request("GET", "/", headers=lines).clone(remote="127.0.0.1")
    assert PROXIES.client_address(request) == "203.0.113.9"


@pytest.mark.parametrize(
    ("peername", "expected"),
    [
        (("192.0.2.1", 5), "192.0.2.1"),
        (("127.0.0.1", 5), ""),
        (("::1", 5, 0, 0), ""),
        (("10.9.9.9", 5), ""),
        (("2001:db8::1", 5, 0, 0), "2001:db8::/64"),
        ("/run/sophon.sock", ""),
        (None, ""),
    ],
)
def test_loopback_and_proxies_have_no_cap_of_their_own(peername: object, expected: str) -> None:
    assert PROXIES.limited_address(peername) == expected


def test_the_addresses_of_one_ipv6_site_count_as_one() -> None:
    assert address_group("2001:db8::1") == address_group("2001:db8::ffff") != address_group("2001:db8:0:1::1")
