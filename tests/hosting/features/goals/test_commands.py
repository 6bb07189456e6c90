"""`sophon goals`, on the store while no host runs, and on a running host."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Command = Callable[..., Any]


@pytest.fixture(autouse=True)
def goals_are_on(folder: Path) -> None:
    (folder / "appsettings.json").write_text(json.dumps({"Sophon": {"Goals": {"Enabled": True}}}))


def test_a_goal_is_created_listed_shown_paused_resumed_and_cancelled(sophon: Command) -> None:
    assert sophon("goals", "list").out == "There are no goals.\n"
    made = sophon("goals", "create", "Birds", "-d", "List all birds", "--autonomy", "assist", "--json").json
    goal = made["goal_id"]
    assert (made["state"], made["autonomy"], made["user"], made["priority"]) == ("planning", "assist", "local", 8)
    listed = sophon("goals", "list")
    assert goal in listed.out
    assert "Birds" in listed.out
    shown = sophon("goals", "show", goal).out
    assert "planning_tokens   0 of 2000" in shown
    assert sophon("goals", "pause", goal).out == f"{goal} is paused\n"
    assert sophon("goals", "show", goal, "--json").json["pause"] == "person"
    assert sophon("goals", "resume", goal, "--json").json["state"] == "planning"
    assert sophon("goals", "cancel", goal).out == f"{goal} is cancelled\n"
    assert [each["state"] for each in sophon("goals", "list", "--json").json] == ["cancelled"]


def test_a_goal_is_deleted_with_its_session_of_work_after_a_confirmation(sophon: Command) -> None:
    goal = sophon("goals", "create", "Birds", "--json").json["goal_id"]
    refused = sophon("goals", "delete", goal)
    assert (refused.code, "nothing was deleted" in refused.err) == (1, True)
    assert sophon("goals", "delete", goal, "--yes").out == f"The goal {goal} was deleted.\n"
    assert sophon("goals", "list").out == "There are no goals.\n"
    assert "There are no sessions" in sophon("sessions", "list").out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("show", "none"), "none"),
        (("pause", "none"), "none"),
        (("create", " "), "a goal needs a title"),
        (("create", "Birds", "--autonomy", "yolo"), "use assist, semi or full"),
        (("list", "--limit", "0"), "at least 1"),
    ],
)
def test_what_is_wrong_is_one_line(sophon: Command, arguments: tuple[str, ...], says: str) -> None:
    done = sophon("goals", *arguments)
    assert done.code in (1, 2)
    assert says in done.err
    assert "Traceback" not in done.err


def test_no_goal_is_created_where_they_are_off(sophon: Command, folder: Path) -> None:
    (folder / "appsettings.json").write_text("{}")
    done = sophon("goals", "create", "Birds")
    assert (done.code, "Goals.Enabled" in done.err) == (1, True)


def test_a_goal_and_the_session_in_which_it_works_are_deleted_with_its_chat(sophon: Command) -> None:
    goal = sophon("goals", "create", "Birds", "--session", "chat", "--json").json["goal_id"]
    listed = {each["id"] for each in sophon("sessions", "list", "--json").json}
    assert listed == {"chat", f"goal-{goal}"}
    assert sophon("sessions", "delete", "chat", "--yes").code == 0
    assert sophon("sessions", "list", "--json").json == []
    assert sophon("goals", "show", goal).code != 0


def test_a_goal_of_a_host_with_users_is_made_for_whoever_wrote_in_its_session(sophon: Command, folder: Path) -> None:
    users = [{"Id": name, "Token": f"{name}-0123456789abcdef"} for name in ("ada", "bob")]
    settings = {"Sophon": {"Goals": {"Enabled": True}, "Hub": {"Users": users}}}
    (folder / "appsettings.json").write_text(json.dumps(settings))
    assert "this host has several users" in sophon("goals", "create", "Birds").err
    assert "nobody has written in session 's'" in sophon("goals", "create", "Birds", "--session", "s").err
    assert sophon("goals", "list", "--json").json == []
