"""Patterns of grants: which later calls one approval covers, and that a person sees it."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sophon.security.authorization.grant_patterns import build_grant_pattern, describe_grant_pattern, fits_grant_pattern
from tests.tables import table

WRITE = {"path": "notes/a.txt", "content": "milk"}
SEND = {"url": "https://api.example.com/v1/x", "method": "POST", "body": "{}"}


@table(
    ("tool", "approved", "later", "fits"),
    [
        ("files.write", WRITE, {"path": "notes/b.txt", "content": "tea"}, True),
        ("files.write", WRITE, {"path": "./notes/b.txt", "content": ""}, True),
        ("files.write", WRITE, {"path": "notes/old/b.txt", "content": "x"}, False),
        ("files.write", WRITE, {"path": "b.txt", "content": "x"}, False),
        ("files.write", WRITE, {"path": "notes/../b.txt", "content": "x"}, False),
        ("files.write", WRITE, {"path": "notes/..", "content": "x"}, False),
        ("files.write", WRITE, {"path": "notes/", "content": "x"}, False),
        ("files.write", WRITE, {"path": "notes//b.txt", "content": "x"}, False),
        ("files.write", WRITE, {"path": "/notes/b.txt", "content": "x"}, False),
        ("files.write", WRITE, {"path": "~/notes/b.txt", "content": "x"}, False),
        ("files.write", WRITE, {"path": "notes\\b.txt", "content": "x"}, False),
        ("files.write", WRITE, {"path": "nоtes/b.txt", "content": "x"}, False),  # a Cyrillic o
        ("files.write", WRITE, {"path": ["notes/b.txt"], "content": "x"}, False),
        ("files.write", WRITE, {**WRITE, "append": True}, False),
        ("files.write", WRITE, {"path": "notes/a.txt"}, False),
        ("files.write", {**WRITE, "append": True}, {**WRITE, "append": 1}, False),
        ("files.write", {**WRITE, "path": "../a"}, {**WRITE, "path": "../a"}, True),
        ("files.write", {**WRITE, "path": "../a"}, {**WRITE, "path": "../b"}, False),
        ("files.write", {**WRITE, "path": "a.txt"}, {**WRITE, "path": "b.txt"}, True),
        ("http.send", SEND, {**SEND, "url": "https://api.example.com/v2?a=b", "body": "1"}, True),
        ("http.send", SEND, {**SEND, "url": "https://api.example.com"}, True),
        ("http.send", SEND, {**SEND, "method": "DELETE"}, False),
        ("http.send", SEND, {**SEND, "url": "http://api.example.com/v1/x"}, False),
        ("http.send", SEND, {**SEND, "url": "https://api.example.com.evil.net/"}, False),
        ("http.send", SEND, {**SEND, "url": "https://api.example.com@evil.net/"}, False),
        ("http.send", SEND, {**SEND, "url": "https://api.example.com:8443/"}, False),
        ("http.send", SEND, {**SEND, "url": "https://api.example.com\\@evil.net/"}, False),
        ("http.send", SEND, {**SEND, "url": "https://api.example.com/\n"}, False),
        ("publish", WRITE, WRITE, True),
        ("publish", WRITE, {**WRITE, "path": "notes/b.txt"}, False),
        ("publish", {}, {}, True),
        ("publish", {"a": 1}, {"a": 1.0}, False),
    ],
)
def test_a_pattern_covers_what_it_says_and_no_more(tool: str, approved: Any, later: Any, fits: bool):
    pattern = json.loads(json.dumps(build_grant_pattern(tool, approved)))  # as a store returns it
    assert fits_grant_pattern(pattern, later) is fits


@table("rule", [{"folder": 1}, {"folder": "notes", "is": 1}, {"any": 1}, {"site": None}])
def test_a_pattern_that_cannot_be_read_fits_nothing(rule: dict[str, Any]):
    assert not fits_grant_pattern({"path": rule}, {"path": "notes/a"})


def test_the_text_for_people_names_each_argument():
    assert describe_grant_pattern("files.write", build_grant_pattern("files.write", WRITE)).splitlines() == [
        "calls of files.write with",
        "  content: anything",
        "  path: any file directly in the folder notes",
    ]
    assert describe_grant_pattern("http.send", build_grant_pattern("http.send", SEND)).splitlines()[2:] == [
        '  method: "POST"',
        "  url: any address of https://api.example.com",
    ]
    assert describe_grant_pattern("now", {}) == "calls of now without arguments"


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda each: st.lists(each, max_size=3) | st.dictionaries(st.text(max_size=3), each, max_size=3),
    max_leaves=5,
)
_PATHS = st.text(alphabet="a./\\~ \u202e\0", max_size=12)
_CALLS = st.fixed_dictionaries({"path": _PATHS | _JSON, "content": _JSON}, optional={"url": _PATHS})


@given(st.sampled_from(["files.write", "http.send", "other"]), _CALLS, _CALLS)
def test_a_call_fits_its_own_pattern_and_equal_texts_mean_equal_coverage(tool: str, call: Any, other: Any):
    pattern = build_grant_pattern(tool, call)
    assert fits_grant_pattern(pattern, call)
    text = describe_grant_pattern(tool, pattern)
    assert all(line.isprintable() for line in text.split("\n"))
    if fits_grant_pattern(pattern, other):
        assert describe_grant_pattern(tool, build_grant_pattern(tool, other)) == text


@given(_PATHS)
def test_a_path_that_leaves_its_folder_is_granted_alone(path: str):
    rule = build_grant_pattern("files.write", {"path": path})["path"]
    if ".." in path.split("/") or path.startswith(("/", "~")):
        assert rule == {"is": path}
