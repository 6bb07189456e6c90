"""`sophon policy test`: what the security rules say about a call, without running it."""

import sys
from pathlib import Path

import pytest

from tests.hosting.conftest import Command


def test_a_call_is_judged_with_tier_and_rule(sophon: Command, folder: Path) -> None:
    outcome = sophon("policy", "test", "system.execute", '{"command": "rm -rf / ; touch ran"}')

    lines = outcome.out.splitlines()
    assert outcome.code == 0
    assert lines[0].split() == ["verdict", "block", "(tier", "1):", "destruction.delete_root"]
    assert [line.split()[0] for line in lines[1:]] == ["protection", "policy", "heuristics", "risk", "tool"]
    assert lines[-1].split("tool ")[1].strip() == "critical risk: a person is asked, unless a guard decides otherwise"
    assert not (folder / "ran").exists()


def test_tools_of_the_settings_are_shown_and_a_name_that_is_no_tool_is_reported(sophon: Command, folder: Path) -> None:
    (folder / "mine.py").write_text('from sophon import tool\n@tool\ndef brew() -> str:\n    """Brew."""\n')
    mine = ("--set", 'Tools.Modules=["mine"]')
    assert any(line.split()[:1] == ["brew"] for line in sophon("policy", "show", *mine).out.splitlines())
    assert "low risk: runs, nobody is asked" in sophon("policy", "test", "brew", "{}", *mine).out
    assert "there is no tool 'brew': judged as an action type" in sophon("policy", "test", "brew", "{}").out


def test_the_verdict_is_json(sophon: Command) -> None:
    found = sophon("policy", "test", "files.write", '{"path": "SOUL.md"}', "--json").json

    assert (found["verdict"], found["tier"], found["rule"]) == ("block", 0, "protected_read_only")
    assert [each["source"] for each in found["assessments"]] == ["protection", "policy", "heuristics", "risk"]


def test_a_policy_of_ones_own_is_tried(sophon: Command, folder: Path) -> None:
    (folder / "mine.yaml").write_text("deny: [{name: no_reading, action_types: [read_file]}]")
    call = ["policy", "test", "files.read", '{"path": "a.txt"}']

    assert sophon(*call).out.split()[1] == "allow"
    assert "block (tier 0): no_reading" in sophon(*call, "--policy", "mine.yaml").out
    (folder / "appsettings.json").write_text('{"Sophon": {"Guards": {"Shield": {"PolicyFile": "mine.yaml"}}}}')
    assert "block (tier 0): no_reading" in sophon(*call).out


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["{bad"], "the arguments are not valid JSON"),
        (["[1]"], "the arguments must be a JSON object"),
        (["{}", "--policy", "missing.yaml"], "'missing.yaml' cannot be read"),
        (["{}", "--policy", "wrong.yaml"], "wrong.yaml: the policy"),
    ],
)
def test_wrong_input_is_one_clear_error(sophon: Command, folder: Path, arguments: list[str], error: str) -> None:
    (folder / "wrong.yaml").write_text("forbid: []")
    outcome = sophon("policy", "test", "files.read", *arguments)

    assert outcome.code != 0
    assert outcome.out == ""
    assert error in outcome.err
    assert len(outcome.err.splitlines()) == 1


def test_the_rules_are_shown_and_a_guard_that_is_off_names_its_setting(sophon: Command) -> None:
    off = ("--set", "Guards.Protection.Enabled=false")
    lines = sophon("policy", "show", *off).out.splitlines()
    assert any(line.split()[:3] == ["Protection", "off", "Guards.Protection.Enabled"] for line in lines)
    assert any(line.split()[:3] == ["system.execute", "critical", "a"] for line in lines)
    assert any(line.split()[:2] == ["deny", "block_credential_files"] for line in lines)
    limited = ("--set", 'Permissions.Users={"bob": {"Level": "ZeroTrust"}}')
    shown = sophon("policy", "show", "--json", *limited).json
    assert shown["levels"]["rows"][0] == ["ZeroTrust", "none", "Chat", "bob"]
    assert [row[0] for row in shown["levels"]["rows"]] == ["ZeroTrust", "User", "Admin"]
    assert shown["levels"]["rows"][2][3] == "local"
    protection = next(each for each in shown["guards"] if each["name"] == "Protection")
    assert ["AGENTS.md", "allowed", "a person is asked", "blocked"] in protection["rules"][0]["rows"]
    assert "  (not enforced" in sophon("policy", "test", "files.write", '{"path": "SOUL.md"}', *off).out.splitlines()[1]


def test_the_tools_of_schedules_are_shown_and_tried(sophon: Command) -> None:
    tools = sophon("policy", "show").out.partition("\nTools\n")[2].partition("\n\n")[0]
    listed = {line.split()[0] for line in tools.splitlines()[1:]}
    assert listed == {each["name"] for each in sophon("tools", "--json").json["items"]}
    assert "there is no tool" not in sophon("policy", "test", "schedules.add", '{"text": "tea"}').out


def test_the_chain_says_which_guards_stand(sophon: Command) -> None:
    lines = sophon("chain", "--set", "Guards.Audit.Enabled=false").out.split("\nGuards\n")[1].splitlines()
    states = {line.split()[0]: line.split()[1] for line in lines if not line.startswith(" ")}
    assert (states["Audit"], states["Integrity"], states["Protection"]) == ("off", "on", "on")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return 0.2", "allow"),
        ("return 0.9", "block (tier 1): classifier.attack"),
        ("raise KeyError", "block (tier 1): guard_failed"),
    ],
)
def test_the_configured_classifier_is_asked_too(
    sophon: Command, folder: Path, body: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "own_rating", raising=False)
    (folder / "own_rating.py").write_text(f"async def rate(action_type, payload):\n    {body}\n")
    mine = ("--set", "Guards.Shield.Classifier=own_rating:rate")

    lines = sophon("policy", "test", "publish", '{"text": "a text"}', *mine).out.splitlines()

    [found] = [line for line in lines if line.startswith("classifier")]
    assert expected in found
    assert lines[0].split()[1] == expected.split()[0]
