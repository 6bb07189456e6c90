"""Policy: the groups and their order, globs, the shipped policy, and files that cannot be read."""

import os
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sophon.security.policy import Policy, PolicyDecision, PolicyError
from sophon.security.policy.path_globs import GlobError, compile_glob, normalize_path
from tests.tables import table

POLICY = """
deny:
  - {name: no_keys, action_types: [read_file], paths: ["**/*.key"]}
  - {name: no_tool, action_types: [danger]}
verify:
  - {name: look_twice, action_types: [read_file], paths: ["/data/**"], tier_override: 1}
  - {name: look_closer, action_types: [read_file], paths: ["/data/private/**"], tier_override: 3}
  - {name: every_plan}
allow:
  - {name: docs, action_types: [read_file, copy_file], paths: ["docs/**"]}
"""


def decide(policy: Policy, action: str, **payload: Any) -> tuple[str, int, str | None]:
    found = policy.decide(action, payload)
    return found.verdict, found.tier, found.rule


def test_deny_wins_over_verify_and_verify_over_allow() -> None:
    policy = Policy.load(POLICY)
    assert decide(policy, "read_file", path="/data/private/a.key") == ("deny", 0, "no_keys")
    assert decide(policy, "read_file", path="/data/private/a") == ("verify", 3, "look_closer")
    assert decide(policy, "read_file", path="/data/a") == ("verify", 1, "look_twice")
    assert decide(policy, "danger") == ("deny", 0, "no_tool")
    assert decide(policy, "read_file", path="docs/a") == ("verify", 1, "every_plan")


def test_an_action_without_a_rule_is_undecided() -> None:
    assert Policy.load("deny: []").decide("read_file", {"path": "x"}) == PolicyDecision("none")


def test_a_rule_that_restricts_is_met_by_any_path_and_one_that_allows_by_all() -> None:
    policy = Policy.load(POLICY.replace("  - {name: every_plan}\n", ""))
    assert decide(policy, "copy_file", source="docs/a", destination="docs/b")[0] == "allow"
    assert decide(policy, "copy_file", source="docs/a", destination="/out/b")[0] == "none"
    assert decide(policy, "read_file", path="docs/a", file="x.key")[0] == "deny"
    assert decide(policy, "read_file", path=["docs/a", "x.key"])[0] == "deny"
    assert decide(policy, "copy_file")[0] == "none"


@table("name", ["path", "source", "destination", "dir", "file", "target"])
def test_every_argument_with_a_path_is_read(name: str) -> None:
    assert decide(Policy.load(POLICY), "read_file", **{name: "a.key"})[0] == "deny"


@table(
    ("glob", "path", "restricts", "allows"),
    [
        ("/etc/**", "/etc/ssl/x", True, True),
        ("/etc/**", "/etc", True, True),
        ("/etc/**", "/etcetera", False, False),
        ("/etc/**", "/ETC/x", True, False),
        ("/etc/*", "/etc/ssl/x", False, False),
        ("/etc/*", "/etc/hosts", True, True),
        ("**/.env", ".env", True, True),
        ("**/.env", "/a/b/.env", True, True),
        ("**/.env", "/a/b.env", False, False),
        ("**/*.env", "/a/prod.env", True, True),
        (".git/hooks/**", "/repo/.git/hooks/pre-commit", True, False),
        (".git/hooks/**", ".git/hooks/pre-commit", True, True),
        ("src/?.go", "src/a.go", True, True),
        ("src/?.go", "src/ab.go", False, False),
        ("a/[bc].txt", "a/c.txt", True, True),
        ("a/[!bc].txt", "a/c.txt", False, False),
        ("a[!b]c", "a/c", False, False),
        ("x.{go,rs}", "x.rs", True, True),
        ("x.{go,rs}", "x.py", False, False),
        ("~/.ssh/**", "~/.ssh/id_rsa", True, True),
        ("~/.ssh/**", "~/.ssh", True, True),
        ("~/.ssh/**", "~/x/../.ssh/id_rsa", True, True),
        ("C:\\Windows\\**", "c:/windows/system32", True, False),
        ("C:\\Windows\\**", "C:\\Windows\\system32", True, True),
        ("a+b(c)", "a+b(c)", True, True),
        ("x[a-c]", "xb", True, True),
        ("a/**/b", "a/b", True, True),
        ("a/**/b", "a/x/y/b", True, True),
        ("**", "/any/thing", True, True),
    ],
)
def test_a_glob(glob: str, path: str, restricts: bool, allows: bool) -> None:
    normalized = normalize_path(path)
    assert (compile_glob(glob, widens=True).fullmatch(normalized) is not None) is restricts
    assert (compile_glob(glob, widens=False).fullmatch(normalized) is not None) is allows


@table("path", ["/x/../etc/shadow", "//etc/shadow", "/etc//shadow", "/etc/./shadow", "/etc/shadow/", "/ETC/Shadow"])
def test_no_spelling_of_a_denied_path_passes(path: str) -> None:
    assert decide(Policy.default(), "read_file", path=path) == ("deny", 0, "block_sensitive_system_paths")


@table(
    ("action", "payload", "verdict", "tier"),
    [
        ("read_file", {"path": "~/.ssh/id_rsa"}, "deny", 0),
        ("read_file", {"path": os.path.expanduser("~/.aws/credentials")}, "deny", 0),  # noqa: PTH111
        ("read_file", {"path": "app/.env"}, "deny", 0),
        ("read_file", {"path": "appsettings.json"}, "deny", 0),
        ("copy_file", {"source": "a", "destination": "/usr/lib/a"}, "deny", 0),
        ("write_file", {"path": ".git/hooks/pre-commit"}, "deny", 0),
        ("write_file", {"path": "/tmp/out"}, "deny", 0),
        ("delete_file", {"path": "SOUL.md"}, "deny", 0),
        ("write_file", {"path": "SOUL.md"}, "verify", 2),
        ("write_file", {"path": "notes.md"}, "verify", 2),
        ("execute_command", {"command": "ls"}, "verify", 2),
        ("http_request", {"url": "https://example.com"}, "verify", 2),
        ("git_push", {}, "verify", 1),
        ("read_file", {"path": "notes.md"}, "allow", 0),
        ("memory_search", {"query": "x"}, "allow", 0),
        ("unknown_tool", {"path": "notes.md"}, "none", 0),
    ],
)
def test_the_shipped_policy(action: str, payload: dict[str, Any], verdict: str, tier: int) -> None:
    found = Policy.default().decide(action, payload)
    assert (found.verdict, found.tier) == (verdict, tier)


@table(
    ("text", "words"),
    [
        ("", "empty"),
        ("[]", "must be a mapping"),
        ("deny: {}", "deny must be a list"),
        ("forbid: []", "unknown key 'forbid'"),
        ("deny: [{name: x, path: ['/a']}]", "unknown key 'path'"),
        ("deny: [{paths: ['/a']}]", "rule 1 has no name"),
        ("deny: [x]", "must be a mapping"),
        ("deny: [{name: x, paths: []}]", "at least one text"),
        ("deny: [{name: x, paths: [1]}]", "texts only"),
        ("deny: [{name: x, paths: '/a'}]", "at least one text"),
        ("deny: [{name: x, paths: ['[']}]", "not closed"),
        ("deny: [{name: x, action_types: ['a b']}]", "not an action type"),
        ("deny: [{name: x, tier_override: 2}]", "belongs to verify"),
        ("verify: [{name: x, tier_override: 4}]", "1, 2 or 3"),
        ("verify: [{name: x, tier_override: true}]", "1, 2 or 3"),
        ("deny: [{name: x}]\nallow: [{name: x}]", "two rules have the name"),
        ("deny: [{name: x}]\ndeny: []", "occurs twice"),
        ("deny: [{name: x, name: y}]", "occurs twice"),
        ("a: &a [1]\ndeny: [*a, *a]", "aliases"),
        ("deny: [", "not valid YAML"),
        ("deny: !!python/object/apply:os.system ['id']", "not valid YAML"),
        ("\t", "not valid YAML"),
        ("x" * 300_000, "more than"),
        ("[" * 50_000, "not valid YAML"),
    ],
)
def test_a_policy_that_cannot_be_read_is_an_error(text: str, words: str) -> None:
    with pytest.raises(PolicyError, match=words):
        Policy.load(text)


@given(st.text("ab/*?[]{},~.\\!", max_size=12), st.text("ab/.~\\", max_size=12))
def test_any_glob_compiles_or_is_refused_and_any_path_is_judged(glob: str, path: str) -> None:
    try:
        pattern = compile_glob(glob, widens=True)
    except GlobError:
        return
    pattern.fullmatch(normalize_path(path))


def test_a_path_that_is_not_valid_unicode_is_judged() -> None:
    assert Policy.default().decide("read_file", {"path": "~/.ssh/\ud800"}).verdict == "deny"


@table("action_type", ["read_file", "send_message", "send_email", "grep_files", "open"])
@table("path", ["keys/deploy.pem", "sub/.env", ".ssh/id_rsa"])
@table("argument", ["path", "paths", "attachments"])
def test_no_credentials_leave_by_whatever_action(action_type: str, path: str, argument: str) -> None:
    assert Policy.default().decide(action_type, {argument: [path]}).verdict == "deny"
