"""The guard: the shared case file, look-ups, redirects, the allow list."""

import json
from collections import Counter
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sophon.errors import SettingsError
from sophon.tools.http.ssrf_guard import SsrfBlocked, SsrfGuard, Target, resolve_system_addresses
from tests.tables import table

CASES: list[dict[str, Any]] = json.loads((Path(__file__).parents[3] / "cases" / "ssrf.json").read_text())
PUBLIC = "93.184.216.34"

# Set here, while pytest collects: tests/conftest.py marks too late for tables and for hypothesis.
pytestmark = pytest.mark.anyio


class Names:
    """A resolver with a script: the n-th look-up of a host gives its n-th list; counts what it was asked."""

    def __init__(self, script: dict[str, list[list[str]]] | None = None) -> None:
        self.script = script or {}
        self.asked: Counter[str] = Counter()

    async def __call__(self, host: str) -> list[str]:
        lists = self.script[host]
        answer = lists[min(self.asked[host], len(lists) - 1)]
        self.asked[host] += 1
        return answer


def everywhere(*addresses: str) -> Any:
    async def resolve(host: str) -> list[str]:
        return list(addresses)

    return resolve


async def walk(guard: SsrfGuard, url: str, redirects: list[str]) -> Target:
    target = await guard.check(url)
    for location in redirects:
        url, target = await guard.check_redirect(url, location)
    return target


@table("case", CASES)
async def test_the_shared_case_file_holds(case: dict[str, Any]) -> None:
    names = Names(case["resolves"])
    guard = SsrfGuard(names, case["policy"].get("allow_cidrs", ()))
    if case["expect"] == "block":
        with pytest.raises(SsrfBlocked) as blocked:
            await walk(guard, case["url"], case["redirects"])
        assert blocked.value.stage == case["stage"]
    else:
        target = await walk(guard, case["url"], case["redirects"])
        assert target.address == case["assert"].get("connect_to", target.address)
    assert all(count <= case["assert"].get("max_lookups", 1) for count in names.asked.values())


async def test_a_target_says_where_to_connect_and_whom_to_name() -> None:
    target = await SsrfGuard(everywhere(PUBLIC)).check("https://BÜCHER.example./x")
    assert target == Target("https", "xn--bcher-kva.example", 443, PUBLIC)


async def test_a_mapped_public_address_is_connected_to_as_ipv4() -> None:
    assert (await SsrfGuard().check("http://[::ffff:8.8.8.8]:81/")) == Target("http", "::ffff:8.8.8.8", 81, "8.8.8.8")


async def test_a_literal_is_never_looked_up() -> None:
    names = Names()
    await SsrfGuard(names).check("https://[2606:4700::1111]/")
    assert not names.asked


async def test_the_first_answer_counts_whatever_a_second_look_up_would_say() -> None:
    names = Names({"rebind.example.com": [[PUBLIC], ["127.0.0.1"]]})
    target = await SsrfGuard(names).check("http://rebind.example.com/")
    assert target.address == PUBLIC
    assert names.asked["rebind.example.com"] == 1


@table(
    "answers",
    [
        [],
        ["127.0.0.1"],
        [PUBLIC, "10.0.0.1"],
        ["10.0.0.1", PUBLIC],
        [PUBLIC, "2606:4700::1111", "fe80::1%eth0"],
        ["::ffff:169.254.169.254"],
        ["64:ff9b::a9fe:a9fe"],
        ["2002:7f00:1::"],
        ["fd00:ec2::254"],
        ["100.100.100.200"],
        ["cname.example.com"],
        ["0177.0.0.1"],
        ["127.1"],
        ["134744072"],
        ["8.8.8.8 "],
        ["8.8.8.8/32"],
        [""],
        [PUBLIC, "garbage"],
        ["2606:4700::1111%eth0"],
    ],
)
async def test_one_bad_answer_refuses_all(answers: list[str]) -> None:
    with pytest.raises(SsrfBlocked) as blocked:
        await SsrfGuard(everywhere(*answers)).check("https://mixed.example.com/")
    assert blocked.value.stage == "resolve"


@table("error", [OSError("no such name"), KeyError("x"), UnicodeError("label"), TimeoutError()])
async def test_a_resolver_that_fails_closes_the_door(error: Exception) -> None:
    async def resolve(host: str) -> list[str]:
        raise error

    with pytest.raises(SsrfBlocked) as blocked:
        await SsrfGuard(resolve).check("https://example.com/")
    assert blocked.value.stage == "resolve"
    assert blocked.value.__cause__ is error


@table(
    ("location", "url"),
    [
        ("/next", "https://start.example.com/next"),
        ("next?q=1", "https://start.example.com/a/next?q=1"),
        ("?q=1", "https://start.example.com/a/b?q=1"),
        ("//other.example.com/x", "https://other.example.com/x"),
        ("http://other.example.com/x", "http://other.example.com/x"),
        ("HTTPS://other.example.com:8443/", "HTTPS://other.example.com:8443/"),
    ],
)
async def test_a_redirect_to_a_public_place_is_followed(location: str, url: str) -> None:
    followed, _ = await SsrfGuard(everywhere(PUBLIC)).check_redirect("https://start.example.com/a/b", location)
    assert followed == url


@table(
    "location",
    [
        "http://169.254.169.254/",
        "//169.254.169.254/",
        "///169.254.169.254/",
        "////169.254.169.254/",
        "/\\169.254.169.254/",
        "\\\\169.254.169.254/",
        "\t//169.254.169.254/",
        "/\t/169.254.169.254/",
        " http://127.0.0.1/",
        "http:169.254.169.254/",
        "https:/127.0.0.1/",
        "http://[::1]/",
        "http://[fe80::1%25eth0]/",
        "http://0x7f000001/",
        "http://localhost:6379/",
        "http://user:pw@start.example.com/",
        "file:///etc/passwd",
        "gopher://127.0.0.1:25/",
        "javascript:alert(1)",
        "data:text/html,x",
        "ftp://start.example.com/",
        "http://",
        "https://start.example.com:0/",
        "//printer.local/",
    ],
)
async def test_a_redirect_to_anywhere_else_is_refused(location: str) -> None:
    with pytest.raises(SsrfBlocked) as blocked:
        await SsrfGuard(everywhere(PUBLIC)).check_redirect("https://start.example.com/a/b", location)
    assert blocked.value.stage == "redirect"


async def test_a_redirect_back_to_the_first_host_is_looked_up_again() -> None:
    names = Names({"start.example.com": [[PUBLIC], ["192.168.1.1"]]})
    with pytest.raises(SsrfBlocked) as blocked:
        await walk(SsrfGuard(names), "https://start.example.com/", ["/next"])
    assert blocked.value.stage == "redirect"
    assert names.asked["start.example.com"] == 2


@table(
    ("cidr", "url"),
    [
        ("192.168.1.10/32", "http://192.168.1.10/"),
        ("192.168.1.10", "http://192.168.1.10/"),
        ("192.168.1.0/24", "http://192.168.1.255/"),
        ("127.0.0.1/32", "http://127.0.0.1:8080/"),
        ("192.168.1.10/32", "http://[::ffff:192.168.1.10]/"),
        ("fd12:3456::/32", "http://[fd12:3456::1]/"),
        ("::1/128", "http://[::1]/"),
        ("169.254.169.254/32", "http://169.254.169.254/"),
        ("fe80::/10", "http://[fe80::1]/"),
    ],
)
async def test_the_allow_list_opens_what_it_lists(cidr: str, url: str) -> None:
    assert await SsrfGuard(allow_cidrs=[cidr]).check(url)


@table(
    ("cidr", "url"),
    [
        ("192.168.1.10/32", "http://192.168.1.11/"),
        ("192.168.1.0/24", "http://192.168.2.1/"),
        ("127.0.0.1/32", "http://127.0.0.2/"),
        ("127.0.0.1/32", "http://0.0.0.0/"),
        ("127.0.0.1/32", "http://[::1]/"),
        ("127.0.0.1/32", "http://2130706433/"),
        ("127.0.0.1/32", "http://localhost/"),
        ("192.168.1.10/32", "http://user@192.168.1.10/"),
        ("192.168.1.10/32", "ftp://192.168.1.10/"),
        ("192.168.1.10/32", "http://[64:ff9b::c0a8:10a]/"),
        ("192.168.1.10/32", "http://[2002:c0a8:10a::]/"),
        ("192.168.1.10/32", "http://[::192.168.1.10]/"),
        ("169.254.0.0/16", "http://169.254.169.254/"),
        ("100.64.0.0/10", "http://100.100.100.200/"),
        ("0.0.0.0/0", "http://168.63.129.16/"),
        ("fc00::/7", "http://[fd00:ec2::254]/"),
        ("fe80::/10", "http://[fe80::1%25eth0]/"),
    ],
)
async def test_the_allow_list_opens_nothing_else(cidr: str, url: str) -> None:
    with pytest.raises(SsrfBlocked):
        await SsrfGuard(everywhere("127.0.0.1"), allow_cidrs=[cidr]).check(url)


async def test_the_allow_list_holds_for_answers_one_by_one() -> None:
    allowed = ["192.168.1.10/32"]
    target = await SsrfGuard(everywhere(PUBLIC, "192.168.1.10"), allowed).check("http://nas.example.com/")
    assert target.address == PUBLIC
    with pytest.raises(SsrfBlocked):
        await SsrfGuard(everywhere("192.168.1.10", "192.168.1.11"), allowed).check("http://nas.example.com/")


def test_an_allow_list_that_cannot_be_read_names_every_entry() -> None:
    with pytest.raises(SettingsError) as wrong:
        SsrfGuard(allow_cidrs=["192.168.1.10/24", "nas.local", "10.0.0.0/8"])
    assert len(wrong.value.problems) == 2
    assert "nas.local" in wrong.value.problems[1]


async def test_a_refusal_says_what_where_and_why() -> None:
    with pytest.raises(SsrfBlocked, match=r"literal.*loopback \(127\.0\.0\.0/8\).*AllowCidrs") as blocked:
        await SsrfGuard().check("http://127.0.0.1/")
    assert (blocked.value.url, blocked.value.stage) == ("http://127.0.0.1/", "literal")


async def test_the_system_is_asked_when_nobody_else_is() -> None:
    assert set(await resolve_system_addresses("localhost")) <= {"127.0.0.1", "::1"}


BLOCKED_V4 = ["0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"]
BLOCKED_V4 += ["192.0.0.0/24", "192.168.0.0/16", "198.18.0.0/15", "224.0.0.0/4", "240.0.0.0/4", "168.63.129.16/32"]
BLOCKED_V6 = ["::/96", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8", "100::/64", "64:ff9b:1::/48", "2001:db8::/32"]
BLOCKED_V6 += ["2002::/16", "2001::/32", "3fff::/20", "5f00::/16", "::ffff:0:0:0/96", "4000::/3", "8000::/1"]


def within(cidr: str) -> st.SearchStrategy[int]:
    network = IPv4Network(cidr) if "." in cidr else IPv6Network(cidr)
    return st.integers(int(network[0]), int(network[-1]))


private_v4 = st.sampled_from(BLOCKED_V4).flatmap(within)
private_v6 = st.sampled_from(BLOCKED_V6).flatmap(within).map(IPv6Address)


@st.composite
def spelled_v4(draw: st.DrawFn) -> str:
    """A private IPv4 address in any spelling that inet_aton, a browser or an IPv6 stack understands."""
    number = draw(private_v4)
    bases = [draw(st.sampled_from(["{}", "0{:o}", "00{:o}", "0x{:x}", "0X{:X}", "0x000{:x}"])) for _ in range(4)]
    octets = list(number.to_bytes(4, "big"))
    count = draw(st.integers(1, 4))
    tail = int.from_bytes(bytes(octets[count - 1 :]), "big")
    parts = [base.format(value) for base, value in zip(bases, [*octets[: count - 1], tail], strict=False)]
    digits = draw(st.sampled_from(["0123456789", "０１２３４５６７８９", "⓪①②③④⑤⑥⑦⑧⑨", "𝟎𝟏𝟐𝟑𝟒𝟓𝟔𝟕𝟖𝟗"]))
    dot = draw(st.sampled_from([".", "。", "．", "｡", "%2e"]))
    plain = dot.join(parts).translate({ord(str(n)): digits[n] for n in range(10)} if dot != "%2e" else {})
    high, low = number >> 16, number & 0xFFFF
    quad = IPv4Address(number)
    forms = [f"[::ffff:{quad}]", f"[::ffff:{high:x}:{low:x}]", f"[::{high:x}:{low:x}]", f"[64:ff9b::{quad}]"]
    forms += [f"[2002:{high:x}:{low:x}::1]", f"[::ffff:0:{quad}]", f"[2606:4700::5efe:{quad}]", f"[64:ff9b:1::{quad}]"]
    return draw(st.sampled_from([plain, plain, plain, f"{plain}.", *forms]))


@settings(deadline=None)
@given(host=spelled_v4(), tail=st.sampled_from(["/", "", "/x?y", ":80/", ":8080", "?q", "#f", "/@example.com"]))
async def test_a_private_ipv4_address_is_refused_in_every_spelling(host: str, tail: str) -> None:
    with pytest.raises(SsrfBlocked):
        await SsrfGuard(everywhere(PUBLIC)).check(f"http://{host}{tail}")


@settings(deadline=None)
@given(address=private_v6, exploded=st.booleans())
async def test_an_ipv6_address_that_is_not_public_is_refused(address: IPv6Address, exploded: bool) -> None:
    with pytest.raises(SsrfBlocked) as blocked:
        await SsrfGuard().check(f"https://[{address.exploded.upper() if exploded else address}]/")
    assert blocked.value.stage == "literal"


@settings(deadline=None)
@given(good=st.lists(st.just(PUBLIC), max_size=3), bad=private_v4, place=st.integers(0, 3))
async def test_a_name_with_a_private_answer_is_never_allowed(good: list[str], bad: int, place: int) -> None:
    answers = [*good[:place], str(IPv4Address(bad)), *good[place:]]
    with pytest.raises(SsrfBlocked):
        await SsrfGuard(everywhere(*answers)).check("https://any.example.com/")


@settings(deadline=None)
@given(
    text=st.text(st.characters(exclude_characters="[]0123456789"), max_size=40), scheme=st.sampled_from(["", "http://"])
)
async def test_no_name_gets_past_a_resolver_that_knows_private_addresses_only(text: str, scheme: str) -> None:
    with pytest.raises(SsrfBlocked):
        await SsrfGuard(everywhere("127.0.0.1")).check(scheme + text)
