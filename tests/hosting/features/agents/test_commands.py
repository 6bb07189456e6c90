"""`sophon agents`: list, show and check; bad input gives one clear error."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

Command = Callable[..., Any]

SETTING = "--set=Agents.Directory=agents"


def write_agent(folder: Path, name: str, header: str = "") -> Path:
    (folder / "agents").mkdir(exist_ok=True)
    path = folder / "agents" / f"{name}.md"
    path.write_text(f"---\nname: {name}\ndescription: Helps.\n{header}\n---\nHelp.\n")
    return path


def test_agents_are_listed_and_shown(sophon: Command, tmp_path: Path) -> None:
    assert "There are no agents" in sophon(SETTING, "agents", "list").out
    write_agent(tmp_path, "helper", "tools: [files.*]\nmodel: gpt-5-mini")
    assert "files.*" in sophon(SETTING, "agents", "list").out
    [item] = json.loads(sophon(SETTING, "agents", "list", "--json").out)["items"]
    assert (item["name"], item["tools"], item["model"]) == ("helper", ["files.*"], "gpt-5-mini")
    shown = sophon(SETTING, "agents", "show", "helper").out
    assert "Help." in shown
    assert "gpt-5-mini" in shown
    assert json.loads(sophon(SETTING, "agents", "show", "helper", "--json").out)["prompt"] == "Help."
    unknown = sophon(SETTING, "agents", "show", "helpr")
    assert (unknown.code, "there is no agent 'helpr'" in unknown.err) == (1, True)
    assert len(unknown.err.strip().splitlines()) == 1


def test_a_broken_file_is_named_with_its_line(sophon: Command, tmp_path: Path) -> None:
    path = write_agent(tmp_path, "helper", "tolls: [x]")
    write_agent(tmp_path, "other")
    listed = sophon(SETTING, "agents", "list")
    assert ("other" in listed.out, "helper.md:4: the key 'tolls' is unknown" in listed.err) == (True, True)
    checked = sophon(SETTING, "agents", "check")
    assert (checked.code, "helper.md:4: " in checked.out) == (1, True)
    [problem] = json.loads(sophon("agents", "check", str(path), "--json").out)
    assert (problem["line"], Path(problem["file"]).name) == (4, "helper.md")
    assert "helper.md:4: " in sophon(SETTING, "agents", "show", "helper").err
    assert "there is no file" in sophon("agents", "check", "gone.md").err
    assert "No problem" in sophon("agents", "check", str(write_agent(tmp_path, "fine"))).out


def test_without_a_host_sub_agents_are_those_of_the_store(sophon: Command) -> None:
    assert "No sub-agent works" in sophon("agents", "running").out
    assert json.loads(sophon("agents", "running", "--json").out) == []
    unknown = sophon("agents", "cancel", "t/agent-x")
    assert (unknown.code, "there is no sub-agent" in unknown.err) == (1, True)


def test_models_chains_and_tools_that_there_are_not_are_named_with_their_line(sophon: Command, tmp_path: Path) -> None:
    write_agent(tmp_path, "helper", "model: gpt-9\nchain: twelv\ntools: [file.read, files.*, schedules.add, notes.*]")
    checked = sophon(SETTING, "agents", "check", "--json")
    problems = [(each["line"], each["problem"]) for each in json.loads(checked.out)]
    assert [line for line, _ in problems] == [4, 5, 6, 6]
    assert "there is no model 'gpt-9'" in problems[0][1]
    assert "there is no chain 'twelv'" in problems[1][1]
    assert "twelve" in problems[1][1]
    assert "there is no tool 'file.read'" in problems[2][1]
    assert "there is no tool 'notes.*'" in problems[3][1]
    assert checked.code == 1


def test_tools_of_a_server_that_is_configured_count_as_known(sophon: Command, tmp_path: Path) -> None:
    write_agent(tmp_path, "helper", "tools: [notes.search, note*, files.read]\nchain: clawft")
    server = '--set=Mcp.Servers=[{"Id": "notes", "Command": "true"}]'
    checked = sophon(SETTING, server, "agents", "check")
    assert (checked.code, "No problem" in checked.out) == (0, True), checked


def test_doctor_counts_definitions_that_cannot_be_used(sophon: Command, tmp_path: Path) -> None:
    def find() -> tuple[str, str] | None:
        rows = json.loads(sophon(SETTING, "doctor", "--json").out)
        return next(((each["grade"], each["text"]) for each in rows if each["id"] == "agents"), None)

    write_agent(tmp_path, "fine")
    assert find() == ("ok", "1 definition of agents")
    write_agent(tmp_path, "helper", "tolls: [x]")
    write_agent(tmp_path, "other", "tools: [nothing.there]")
    assert find() == ("warning", "2 of 3 definitions of agents cannot be used as written")
    assert not [each for each in json.loads(sophon("doctor", "--json").out) if each["id"] == "agents"]


def test_without_a_folder_the_list_is_empty(sophon: Command) -> None:
    shown = sophon("agents", "list", "--json")
    assert (shown.code, shown.json) == (0, {"items": [], "problems": []})
    assert "Agents.Directory" in sophon("agents", "list").out
