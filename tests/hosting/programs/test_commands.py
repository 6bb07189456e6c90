"""The commands besides the chat."""

import json
import re
import stat
import sys
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

from sophon.chain.explanation import TABLE_WIDTH
from sophon.memory.workspace_templates import WORKSPACE_TEMPLATES
from sophon_hosting.features.usage.commands import first_day
from sophon_hosting.programs.doctor.chain_and_tool_checks import is_privileged
from sophon_middlewares.chains import CHAINS

Command = Callable[..., Any]
Start = Callable[..., Any]


def test_the_chain_is_a_table_of_twelve(sophon: Command) -> None:
    done = sophon("chain", "twelve")
    assert " 1  SessionEvents" in done.out
    assert "12  LlmInvoker" in done.out
    names = [each["name"] for each in sophon("chain", "twelve", "--json").json]
    assert names[0] == "SessionEvents"
    assert len(names) == 12


def test_the_configured_chain_is_shown_with_its_guards(sophon: Command) -> None:
    twelve = [each["name"] for each in sophon("chain", "twelve", "--json").json]
    configured = [each["name"] for each in sophon("chain", "--json").json]
    guards = [name for name in configured if name not in twelve]
    assert {"Integrity", "Protection"} <= set(guards)
    assert [name for name in configured if name not in guards] == twelve
    assert "Protection" in sophon("chain").out
    without = sophon("chain", "--set", "Guards.Protection.Enabled=false", "--json").json
    assert "Protection" not in [each["name"] for each in without]


@pytest.mark.parametrize("name", CHAINS)
def test_a_named_chain_is_shown_as_the_host_that_chooses_it_runs_it(sophon: Command, name: str) -> None:
    guards = sophon("chain", name).out.partition("\nGuards\n")[2].splitlines()
    states = {line.split()[0]: line.split()[1] for line in guards if not line.startswith(" ")}
    configured = [each["name"] for each in sophon("chain", "--set", f"Chain.Name={name}", "--json").json]
    assert {guard for guard, state in states.items() if state == "on"} == states.keys() & set(configured)
    assert set(states.values()) <= {"on", "optional"}
    assert max(map(len, guards)) <= TABLE_WIDTH


def test_what_a_host_adds_to_a_chain_stands_below_it(sophon: Command) -> None:
    added = sophon("chain", "twelve").out.partition("\nAdded by a host\n")[2].partition("\n\n")[0]
    names = [line.split()[0] for line in added.splitlines() if not line.startswith(" ")]
    assert names == [
        "Trace",
        "ReplyRedaction",
        "Preferences",
        "Memory",
    ]


def test_each_addition_is_shown_with_the_setting_that_says_so(sophon: Command) -> None:
    rows = {each["name"]: each["reason"] for each in sophon("chain", "--json").json}
    assert rows["Trace"].startswith("Traces.Enabled: ")
    assert rows["Shield"].startswith("Guards.Shield.Enabled: ")
    assert rows["Approval"] is None
    added = sophon("chain").out.partition("\nAdded by a host\n")[2].partition("\n\n")[0]
    assert rows["Trace"] in added


def test_a_chain_of_ones_own_is_shown_and_run(sophon: Command, folder: Path) -> None:
    (folder / "own.py").write_text(
        "from sophon import Pipeline, Response\n"
        "async def hello(ctx, next):\n"
        '    """Says hello."""\n'
        '    ctx.response = Response("hello from my own chain")\n'
        "def chain(services):\n"
        "    return Pipeline.compose(hello)\n"
    )
    (folder / "appsettings.json").write_text('{"Sophon": {"Chain": {"Factory": "own:chain"}}}')
    assert "Says hello." in sophon("chain").out
    assert "hello from my own chain" in sophon("chat", "hi").out


def test_sessions_are_listed_shown_renamed_copied_exported_and_deleted(sophon: Command, folder: Path) -> None:
    sophon("chat", "What is 17 * 23?")
    assert sophon("sessions", "rename", "main", "[bold]Sums\x1b").code == 0
    assert "[bold]Sums" in sophon("sessions", "list").out
    shown = sophon("sessions", "show", "main").out
    assert shown.startswith("> What is 17 * 23?\n  · calculator (17 * 23)\n  → 391\n17 * 23 = 391.")
    found = sophon("sessions", "search", "17", "--json").json
    assert [(each["session_id"], each["seq"], each["role"]) for each in found][-1] == ("main", 1, "user")
    assert "17" in sophon("sessions", "search", "17").out
    assert sophon("sessions", "search", "17", "--owner", "ada").out == "No message matches.\n"
    assert sophon("sessions", "fork", "main", "copy", "--upto", "1").out == "copy\n"
    assert sophon("sessions", "show", "copy", "--json").json["session"]["messages"] == 1
    assert sophon("sessions", "export", "main", "-o", "main.json").code == 0
    assert stat.S_IMODE((folder / "main.json").stat().st_mode) == 0o600
    assert json.loads((folder / "main.json").read_text()) == sophon("sessions", "show", "main", "--json").json
    assert "exists already" in sophon("sessions", "export", "main", "-o", "main.json").err
    assert sophon("sessions", "delete", "copy", "--yes").code == 0
    assert [each["id"] for each in sophon("sessions", "list", "--json").json] == ["main"]


def test_nothing_is_deleted_without_a_yes(sophon: Command, process: Command) -> None:
    sophon("chat", "2 + 2")
    assert "nothing was deleted" in sophon("sessions", "delete", "main").err
    assert len(sophon("sessions", "list", "--json").json) == 1
    assert process("sessions", "delete", "main", lines="yes\n").code == 0
    assert sophon("sessions", "list", "--json").json == []


def test_usage_is_summed_by_day_and_model(sophon: Command) -> None:
    assert "There is no usage" in sophon("usage").out
    sophon("chat", "What is 17 * 23?")
    (row,) = sophon("usage", "--json").json
    assert (row["provider"], row["model"], row["cost_micros"]) == ("offline", "offline", 0)
    assert row["calls"] == 2
    assert sophon("usage", "--session", "main", "--json").json == [row]
    assert "total" in sophon("usage").out


def test_the_status_has_chain_strategy_and_the_cost_by_tier(sophon: Command) -> None:
    sophon("chat", "What is 17 * 23?")
    found = sophon("status", "--json").json
    assert (found["chain"], found["strategy"], found["limits"]) == ("twelve", "Priority", [])
    calls = {each["tier"]: each["today"]["calls"] for each in found["tiers"]}
    assert calls == {"low": 2, "high": 0}
    shown = sophon("status", "--set", "Budget.Providers.*.DailyTokens=1").out
    assert "strategy  Priority" in shown
    assert "reached" in shown


def test_the_first_day_counts_in_the_time_zone_of_the_books() -> None:
    late = datetime(2026, 3, 1, 23, 30, tzinfo=UTC)
    assert first_day(late, "UTC", 1) == date(2026, 3, 1)
    assert first_day(late, "UTC", 3) == date(2026, 2, 27)


def test_config_shows_what_is_in_force_without_secrets(sophon: Command) -> None:
    token = 'Hub.Users=[{"Id": "me", "Token": "very-secret"}]'
    done = sophon("config", "show", "--set", "Hub.Port=8081", "--set", "Hub.Port=8082", "--set", token)
    assert done.json["Sophon"]["Hub"]["Port"] == 8082
    assert "very-secret" not in done.out


def test_config_shows_the_constants_of_the_chain(sophon: Command) -> None:
    shown = sophon("config", "show", "--set", "Chain.Name=clawdesk", "--set", "ContextWindow.Reserve=5000").json[
        "Sophon"
    ]
    assert shown["AgentExecution"]["MaxToolIterations"] == 10
    assert (shown["ContextWindow"]["HistoryTokens"], shown["ContextWindow"]["Reserve"]) == (8000, 5000)


def test_config_shows_no_part_of_a_url_that_may_hold_a_secret(sophon: Command) -> None:
    provider = {"Id": "own", "Type": "openai", "BaseUrl": "https://host/v1?api-key=hunter22", "Keys": ["hunter33"]}
    settings = {
        "Providers": [provider],
        "Channels.Telegram.ApiBase": "https://bot.example/api?x=hunter44",
        "Store.Url": "postgresql://ada:hunter55@127.0.0.1:9/sophon?sslpassword=hunter66",
    }
    given = [part for name, value in settings.items() for part in ("--set", f"{name}={json.dumps(value)}")]
    shown = sophon("config", "show", *given)
    assert "hunter" not in shown.out + shown.err
    assert shown.json["Sophon"]["Providers"][0]["BaseUrl"] == "https://host/v1?***"
    assert shown.json["Sophon"]["Channels"]["Telegram"]["ApiBase"] == "https://bot.example/api?***"
    assert shown.json["Sophon"]["Store"]["Url"] == "postgresql://***@127.0.0.1:9/sophon?***"


@pytest.mark.parametrize("command", ["doctor", "serve"])
def test_no_command_shows_the_options_of_the_stores_url(sophon: Command, command: str) -> None:
    url = "postgresql://ada:hunter55@127.0.0.1:9/sophon?sslpassword=hunter66&sslkey=hunter77"
    done = sophon(command, "--set", f"Store.Url={url}")
    assert done.code == 1
    assert "127.0.0.1:9/sophon" in done.out + done.err
    assert "hunter" not in done.out + done.err


def test_config_validates_and_describes(sophon: Command) -> None:
    assert sophon("config", "validate").out == "The settings are valid.\n"
    done = sophon("config", "validate", "--json", "--set", "Hub.Prot=1")
    assert done.code == 1
    assert done.json["valid"] is False
    assert "did you mean Port?" in done.json["problems"][0]
    assert sophon("config", "schema").json["properties"]["Sophon"]["properties"]["Hub"]


def test_init_writes_a_valid_file_once(sophon: Command, folder: Path) -> None:
    assert sophon("init").code == 0
    written = (folder / "appsettings.json").read_text()
    (folder / "appsettings.json").write_text(written.replace("5.0", "7.0"))
    assert "not changed" in sophon("init").out
    assert "7.0" in (folder / "appsettings.json").read_text()
    assert sophon("config", "validate").code == 0


def test_init_writes_the_workspace_files_and_never_over_one(sophon: Command, folder: Path) -> None:
    memory = folder / "data" / "memory"
    memory.mkdir(parents=True)
    (memory / "SOUL.md").write_text("mine")
    out = sophon("init").out
    assert {each.name for each in memory.iterdir()} == {*WORKSPACE_TEMPLATES}
    assert (memory / "SOUL.md").read_text() == "mine"
    assert ("IDENTITY.md was written" in out, "SOUL.md" in out) == (True, False)
    assert "written" not in sophon("init").out
    assert (memory / "USER.md").stat().st_mode & 0o077 == 0


def test_init_writes_the_files_of_each_user_into_their_folder_and_none_without_memory(
    sophon: Command, folder: Path
) -> None:
    users = '[{"Id": "ada", "Token": "a-long-token-of-ada-0123456789"}]'
    (folder / "appsettings.json").write_text(f'{{"Sophon": {{"Hub": {{"Users": {users}}}}}}}')
    assert sophon("init").code == 0
    assert (folder / "data" / "memory" / "principals" / "ada" / "USER.md").exists()
    assert not (folder / "data" / "memory" / "USER.md").exists()
    (folder / "appsettings.json").write_text('{"Sophon": {"Memory": {"Directory": null}}}')
    assert sophon("init").code == 0


def test_settings_in_another_folder_are_relative_to_it(sophon: Command, folder: Path) -> None:
    (folder / "other").mkdir()
    (folder / "other" / "my.json").write_text("{}")
    sophon("--settings", "other/my.json", "chat", "2 + 2")
    assert (folder / "other" / "data" / "sophon.db").exists()
    assert not (folder / "data").exists()


def test_the_doctor_finds_nothing_wrong_on_a_healthy_machine(sophon: Command) -> None:
    done = sophon("doctor")
    assert done.code == 0
    assert done.out.endswith("No check failed; 1 warning.\n" if is_privileged() else "No problems found.\n")
    found = {each["id"]: each for each in sophon("doctor", "--json").json}
    assert {"python", "settings", "providers", "chain", "tools", "files", "store", "terminal"} <= set(found)
    assert found["chain"]["text"].startswith("twelve: ")


def test_the_doctor_names_each_fault_and_its_fix(sophon: Command, folder: Path) -> None:
    (folder / "broken.db").write_text("this is no database, and long enough to be looked at as one" * 20)
    (folder / "file").write_text("")
    faults = ["Chain.Name=nope", "Store.Url=sqlite:///broken.db", "Tools.FilesRoot=file"]
    done = sophon("doctor", "--json", *(word for fault in faults for word in ("--set", fault)))
    assert done.code == 1
    failed = {each["id"]: each for each in done.json if each["grade"] == "failed"}
    assert set(failed) == {"chain", "store", "files"}
    assert all(each["fix"] for each in failed.values())


def test_the_doctor_tells_wrong_settings_and_missing_keys(sophon: Command) -> None:
    wrong = sophon("doctor", "--json", "--set", "Hub.Prot=1")
    assert wrong.code == 1
    assert any("did you mean Port?" in each["text"] for each in wrong.json)
    provider = 'Providers=[{"Id": "openai", "Type": "openai", "Models": ["gpt-5-mini"], "Keys": [{"$env": "NO_KEY"}]}]'
    missing = sophon("doctor", "--json", "--set", provider)
    assert missing.code == 1
    assert any(each["id"] == "keys" and "NO_KEY" in each["text"] for each in missing.json)


NEW_MODEL = 'Providers=[{"Id": "openai", "Type": "openai", "Models": ["gpt-99"], "Keys": ["sk-x"]}]'


@pytest.mark.parametrize(
    ("limits", "code", "grade", "fact"),
    [
        ([], 1, "failed", "refused while Budget.Turn.Cost is set"),
        (['Budget.Providers={"*": {"MonthlyCost": 9}}'], 1, "failed", "Budget.Providers.*.MonthlyCost is set"),
        (["Budget.Turn.Cost=null"], 0, "warning", "its cost is shown as unknown"),
        (['Budget.DefaultPrices={"Input": 1, "Output": 2}'], 0, "ok", "known for every model"),
    ],
)
def test_the_doctor_says_which_model_has_no_known_price_and_what_follows(
    sophon: Command, limits: list[str], code: int, grade: str, fact: str
) -> None:
    done = sophon("doctor", "--json", *(word for each in [NEW_MODEL, *limits] for word in ("--set", each)))
    (finding,) = [each for each in done.json if each["id"] == "prices"]
    assert (done.code, finding["grade"]) == (code, grade)
    assert fact in finding["text"]
    if grade != "ok":
        assert "openai/gpt-99" in finding["text"]
        assert "Budget.DefaultPrices" in finding["fix"]


@pytest.mark.parametrize(
    ("given", "grade", "fact"),
    [
        ([], "ok", "a turn sums up shortly before its time is over; a host stops a task after 2:00:00 of work"),
        (["Budget.Turn.ActiveTime=00:30:00"], "ok", "a turn ends after 0:30:00 of work (Budget.Turn.ActiveTime)"),
        (
            ["Budget.Turn.ActiveTime=00:30:00", "AgentExecution.MaxExecutionTime=00:10:00"],
            "warning",
            "before Budget.Turn.ActiveTime (0:30:00) ends it",
        ),
    ],
)
def test_the_doctor_says_which_limit_on_time_rules(sophon: Command, given: list[str], grade: str, fact: str) -> None:
    done = sophon("doctor", "--json", *(word for each in given for word in ("--set", each)))
    (finding,) = [each for each in done.json if each["id"] == "limits.time"]
    assert finding["grade"] == grade
    assert fact in finding["text"]


def test_the_doctor_reports_an_unusable_settings_file_once(sophon: Command, folder: Path) -> None:
    done = sophon("--settings", "nope.json", "doctor", "--json")
    assert done.code == 1
    assert [each["text"] for each in done.json if each["grade"] == "failed"] == ["nope.json: there is no such file"]
    assert not any(each["text"].endswith("using the defaults") for each in done.json)

    (folder / "comma.json").write_text('{"Sophon": {},}')
    done = sophon("--settings", "comma.json", "doctor", "--json")
    (failed,) = [each for each in done.json if each["grade"] == "failed"]
    assert failed["text"].startswith("comma.json: line 1")
    assert "trailing commas" in failed["fix"]


def test_help_and_version_load_nothing_heavy(sophon: Command) -> None:
    program = (
        "import sys\n"
        "from sophon_hosting.cli.app import run_command_line\n"
        "run_command_line(['--help'])\n"
        "heavy = {'sophon', 'litellm', 'sqlalchemy', 'httpx', 'networkx', 'pydantic', 'rich', 'asyncio', 'anyio'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    import subprocess

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
    assert re.search(r"\bchat +Chat with the agent", done.stdout)
    assert sophon("--version").out.startswith("sophon 0.")


def test_without_a_command_and_a_terminal_there_is_help(process: Command) -> None:
    done = process()
    assert done.code == 0
    assert "Usage: sophon" in done.out


def test_a_table_breaks_no_id_in_a_narrow_terminal_and_no_cell_over_a_pipe(process: Command, terminal: Start) -> None:
    name = "a-session-with-a-rather-long-name-of-its-own"
    process("chat", "2 + 2", "--session", name)
    process("sessions", "rename", name, f"{'sums ' * 20}end")
    assert f"{'sums ' * 20}end" in process("sessions", "list", COLUMNS="40").out
    it = terminal("sessions", "list")
    it.wait_for(f"\n{name} ")
    assert it.ends() == 0


@pytest.mark.parametrize("command", ["config", "sessions"])
def test_the_help_of_a_group_cuts_no_sentence(sophon: Command, command: str) -> None:
    assert "..." not in sophon(command, "--help").out.partition("Commands:")[2]


def test_the_help_brackets_an_argument_once(sophon: Command) -> None:
    assert "[MESSAGE]..." in sophon("chat", "--help").out
    assert "[[" not in "".join(sophon(*words, "--help").out for words in (["chat"], ["chain"], ["sessions", "fork"]))


def test_what_is_valid_is_shown_although_other_settings_are_not(sophon: Command) -> None:
    wrong = ("Hub.Port=x", "Hub.Hots=a", 'Providers=[{"Id": "a", "Type": "openai", "Kind": 1}, {"Type": 5}]')
    given = [part for setting in (*wrong, "Hub.Host=127.0.0.2") for part in ("--set", setting)]
    shown = sophon("config", "show", *given)
    assert (shown.code, json.loads(shown.out)["Sophon"]["Hub"]["Host"]) == (1, "127.0.0.2")
    assert [each["Id"] for each in json.loads(shown.out)["Sophon"]["Providers"]] == ["a"]
    assert all(name in shown.err for name in ("Hub.Port", "Hub.Hots", "Providers[0].Kind", "Providers[1]"))


def test_what_is_invalid_is_named_as_by_validate(sophon: Command) -> None:
    wrong = ('Webhooks.Outgoing=[{"Id": "a", "Url": "nowhere", "Secret": {"$env": "S"}}]', "Hub.Port=x", "Hub.Hots=a")
    given = [part for setting in wrong for part in ("--set", setting)]
    shown, validated = sophon("config", "show", *given), sophon("config", "validate", *given)
    assert shown.err == validated.err
    assert "Webhooks.Outgoing[0].Url" in shown.err
    assert "required and missing" not in shown.err
