"""What the settings name and is not there: each command that would stumble over it says so in one line."""

import json
import socket
from pathlib import Path

import pytest

from sophon.settings import load_settings
from sophon_hosting.cli.global_options import GlobalOptions
from sophon_hosting.cli.settings_warnings import report_startup_warnings
from tests.hosting.conftest import Command

HOOK = {"Id": "hook", "Url": "https://example.org/hook", "Secret": "whsec_sixteen_letters_long"}
OLGA = {"Id": "olga", "Operator": True}


def write(folder: Path, **sections: object) -> None:
    (folder / "appsettings.json").write_text(json.dumps({"Sophon": sections}))


PROBLEMS = [
    (
        {"Guards": {"RateLimit": {"Tools": {"file.write": {"PerHour": 1}}}}},
        "Guards.RateLimit.Tools.file.write",
        "files.write?",
    ),
    ({"Tools": {"Disabled": ["system.exceute"]}}, "Tools.Disabled[0]", "did you mean system.execute?"),
    (
        {"Guards": {"Authorization": {"Rules": [{"Principal": "*", "Resource": "tool:file.write", "Effect": "Deny"}]}}},
        "Guards.Authorization.Rules[0].Resource",
        "files.write?",
    ),
    (
        {"Permissions": {"Levels": {"User": {"Tools": ["files.*", "file.write"]}}}},
        "Permissions.Levels.User.Tools[1]",
        "files.write?",
    ),
    (
        {"Guards": {"InformationFlow": {"Sinks": {"http.sned": "External", "crm.*": "None"}}}},
        "Guards.InformationFlow.Sinks.http.sned",
        "did you mean http.send?",
    ),
    ({"Guards": {"Shield": {"EvaluatorModel": "ofline"}}}, "Guards.Shield.EvaluatorModel", "did you mean offline?"),
    (
        {"Learning": {"Scorer": "Evaluator", "Evaluator": {"Model": "ofline"}}},
        "Learning.Evaluator.Model",
        "did you mean offline?",
    ),
    ({"Tools": {"Modules": ["not_there"]}}, "Tools.Modules[0]", "not_there"),
    ({"Store": {"Url": "mysql://db/x"}}, "Store.Url", "choose from memory, sqlite, postgresql"),
    ({"Budget": {"Providers": {"opneai": {"MonthlyCost": 9}}}}, "Budget.Providers.opneai", "did you mean openai?"),
    ({"Chain": {"Name": "twleve"}}, "Chain.Name", "twelve"),
    ({"Hub": {"Users": [{"Id": "ada", "Token": "short"}]}}, "Hub.Users[0].Token", "at least 8"),
    (
        {"Webhooks": {"Outgoing": [{**HOOK, "Events": ["task_failed", "approval_requestd"]}]}},
        "Webhooks.Outgoing[0].Events[1]",
        "did you mean approval_requested?",
    ),
]


@pytest.mark.parametrize(("sections", "path", "hint"), PROBLEMS)
def test_validate_finds_what_the_settings_name_and_is_not_there(
    sophon: Command, folder: Path, sections: dict[str, object], path: str, hint: str
) -> None:
    write(folder, **sections)
    found = sophon("config", "validate", "--json")
    assert (found.code, found.json["valid"], len(found.json["problems"])) == (1, False, 1)
    assert found.json["problems"][0].startswith(path)
    assert hint in found.json["problems"][0]


@pytest.mark.parametrize("command", [("serve",), ("chat", "hello"), ("doctor",)])
def test_a_typo_in_disabled_tools_is_refused(sophon: Command, folder: Path, command: tuple[str, ...]) -> None:
    write(folder, Tools={"Disabled": ["files.wirte"]})
    done = sophon(*command)
    assert done.code == 1
    assert "did you mean files.write?" in done.out + done.err


def test_every_tool_that_exists_or_comes_later_may_be_disabled(sophon: Command, folder: Path) -> None:
    (folder / "mine.py").write_text('from sophon import tool\n@tool\ndef brew() -> str:\n    """Brew."""\n')
    disabled = ["brew", "system.execute", "memory.write", "chat.send_file"]
    write(folder, Tools={"Disabled": disabled, "Modules": ["mine"]}, Memory={"Enabled": False})
    assert sophon("config", "validate").code == 0


@pytest.mark.parametrize(
    ("users", "fact"),
    [
        ([OLGA | {"Token": {"$env": "NO_TOKEN"}}], "Hub.Users[0].Token: the variable NO_TOKEN"),
        ([OLGA | {"Token": "short"}], "at least 8"),
        ([OLGA | {"Token": "long enough"}, {"Id": "ada", "Token": "long enough"}], "has the same token"),
    ],
)
def test_the_doctor_fails_where_serve_refuses_to_start(
    sophon: Command, folder: Path, users: list[dict[str, object]], fact: str
) -> None:
    write(folder, Hub={"Users": users})
    refused = sophon("serve")
    assert refused.code == 1
    done = sophon("doctor", "--json")
    failed = [each["text"] for each in done.json if each["grade"] == "failed"]
    assert (done.code, len(failed)) == (1, 1)
    assert failed[0] in refused.err
    assert fact.split(": ")[0] in failed[0]


def test_the_doctor_finds_an_address_that_is_taken(sophon: Command) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = sophon("doctor", "--json", "--set", f"Hub.Port={port}")
    assert [each["id"] for each in done.json if each["grade"] == "failed"] == ["address"]


def test_the_doctor_finds_no_problem_only_without_a_warning(sophon: Command) -> None:
    done = sophon("doctor", "--set", "Approval.AutoApproveUpTo=High", "--set", 'Hub.AllowedHosts=["x.example"]')
    assert done.code == 0
    assert "No problems found" not in done.out
    assert "No check failed; " in done.out


@pytest.mark.parametrize("section", ["Hub", "store"])
def test_a_section_beside_the_root_key_is_refused(sophon: Command, folder: Path, section: str) -> None:
    (folder / "appsettings.json").write_text(json.dumps({section: {}}))
    done = sophon("config", "validate")
    assert done.code == 1
    assert "must be below the key Sophon" in done.err


def test_a_file_of_another_program_may_have_its_own_logging(sophon: Command, folder: Path) -> None:
    (folder / "appsettings.json").write_text(json.dumps({"Logging": {"LogLevel": {}}, "AllowedHosts": "*"}))
    assert sophon("config", "validate").code == 0


MISSING = {
    "Guards": {"Sandbox": {"Enabled": True, "Readable": ["/usr", "not/there"]}},
    "Vault": {"wiki": {"Secret": {"$env": "NOT_SET"}, "Hosts": ["wiki.example.com"]}},
}


def test_what_is_missing_on_this_machine_is_a_warning_in_each_place(sophon: Command, folder: Path) -> None:
    write(folder, **MISSING)
    found = sophon("config", "validate", "--json")
    assert (found.code, found.json["valid"]) == (0, True)
    path, secret = (
        "Guards.Sandbox.Readable[1]: not/there does not exist",
        "Vault.wiki.Secret: environment variable NOT_SET",
    )
    assert [sum(each.startswith(line) for each in found.json["warnings"]) for line in (path, secret)] == [1, 1]
    text = sophon("config", "validate").out
    assert path in text
    assert secret in text
    doctor = sophon("doctor").out
    assert path in doctor
    assert "environment variable NOT_SET: missing or empty" in doctor
    settings = load_settings(folder=folder, environment={})
    lines = report_startup_warnings(settings, GlobalOptions(folder / "appsettings.json"), {})
    assert [sum(line in each for each in lines) for line in (path, secret)] == [1, 1]
