"""Sandbox: a command runs in it, or a person is asked; nothing runs outside unasked."""

import pytest

from sophon import Context, Decision, Pipeline, Risk, Services, ToolCall, tool
from sophon.builtin_tools.programs import run_program
from sophon.settings import GuardsSettings, Settings
from sophon.testing import ScriptedModel
from sophon_middlewares import AgenticLoop, Approval, LlmInvoker, Sandbox, ToolExecution
from sophon_middlewares.chains import twelve
from sophon_middlewares.chains.additions import find_guards
from tests.bubblewrap import require_sandbox
from tests.middlewares.guards.conftest import GuardedTurn, shell_call

AUTOMATIC = {"AutoApproveUpTo": "Critical"}


def services_for(turn: GuardedTurn, calls: list[ToolCall], program: str = "bwrap", **settings: object) -> Services:
    sandbox = {"Enabled": True, "Program": program, "Seconds": 20}
    turn.services = Services(
        folder=turn.folder,
        models=ScriptedModel([calls, "done"]),
        tools=[count_files],
        approvals=turn.gate,
        events=turn.events,
        settings={"Tools": {"FilesRoot": "data/files"}, "Guards": {"Sandbox": sandbox}, **settings},
    )
    return turn.services


async def results(turn: GuardedTurn, services: Services, *guards: Sandbox, principal: str = "") -> list[str]:
    ctx = services.turn("hi", principal=principal)
    await Pipeline.compose(AgenticLoop(), *guards, Approval(), ToolExecution(), LlmInvoker()).run(ctx)
    return [message.content for message in ctx.messages if message.role == "tool"]


@tool(risk=Risk.LOW, sandboxed=True)
async def count_files(ctx: Context) -> str:
    """Count the files."""
    return (await run_program(ctx, ["/bin/sh", "-c", "ls -A | wc -l"])).stdout


async def test_a_command_runs_in_the_sandbox_and_its_card_says_so(turn: GuardedTurn) -> None:
    await require_sandbox()
    command = "cat notes.txt; echo x > new.txt; cat ../../appsettings.json; echo $HOME"
    services = services_for(turn, [shell_call(command)])
    [result] = await results(turn, services, Sandbox())

    assert "milk" in result
    assert "/tmp" in result
    assert "appsettings.json: No such file" in result
    assert (turn.folder / "data" / "files" / "new.txt").read_text() == "x\n"
    assert "runs in a sandbox, without network: it reads the system" in turn.gate.asked[0].preview
    assert "rights of the host" not in turn.gate.asked[0].preview
    assert turn.verdicts() == []


async def test_the_folders_of_other_people_are_hidden_from_the_local_user(turn: GuardedTurn) -> None:
    await require_sandbox()
    others = turn.folder / "data" / "files" / "principals" / "bob"
    others.mkdir(parents=True)
    (others / "diary.txt").write_text("secret")
    calls = [shell_call("ls principals; echo x > principals/eve; cat principals/bob/diary.txt")]
    [result] = await results(turn, services_for(turn, calls), Sandbox(), principal="local")

    assert "secret" not in result
    assert result.count("No such file") == 1
    assert "Read-only file system" in result
    assert [each.name for each in others.parent.iterdir()] == ["bob"]


async def test_a_person_sees_their_own_folder_only(turn: GuardedTurn) -> None:
    await require_sandbox()
    (turn.folder / "data" / "files" / "principals" / "bob").mkdir(parents=True)
    [result] = await results(turn, services_for(turn, [shell_call("pwd; ls ..")]), Sandbox(), principal="ada")

    assert "principals/ada\nada" in result


async def test_a_limit_is_an_error_that_says_which_and_keeps_the_output(turn: GuardedTurn) -> None:
    await require_sandbox()
    services = services_for(turn, [shell_call("echo begun; yes")])
    [result] = await results(turn, services, Sandbox())

    assert "error: the sandbox has stopped the command: it wrote more than 10240 KB" in result
    assert "begun" in result


async def test_a_command_that_fills_the_files_folder_is_stopped_as_the_settings_say(turn: GuardedTurn) -> None:
    await require_sandbox()
    services = services_for(turn, [shell_call("head -c 4000000 /dev/zero > big.bin; echo done")])
    services.settings = Settings.from_mapping({"Guards": {"Sandbox": {"Enabled": True, "FilesMb": 2}}})
    [result] = await results(turn, services, Sandbox())

    assert "its files folder would hold more than 2 MB; delete files first" in result


async def test_a_files_folder_with_files_of_the_host_is_refused(turn: GuardedTurn) -> None:
    await require_sandbox()
    services = services_for(turn, [shell_call("cat appsettings.json")], Tools={"FilesRoot": "."})
    [result] = await results(turn, services, Sandbox())

    assert "would see" in result
    assert "choose another Tools.FilesRoot" in result


@pytest.mark.parametrize("principal", ["", "ada"])
async def test_without_a_sandbox_a_person_is_asked_whatever_is_approved_automatically(
    turn: GuardedTurn, principal: str
) -> None:
    services = services_for(turn, [shell_call("echo ran")], "/nowhere/bwrap", Approval=AUTOMATIC)
    [result] = await results(turn, services, Sandbox(), principal=principal)

    assert "ran" in result
    assert "Sandbox asks: there is no sandbox: bubblewrap (/nowhere/bwrap)" in turn.gate.asked[0].preview
    assert "rights of the host" in turn.gate.asked[0].preview
    assert turn.verdicts() == [("c1", "Sandbox", "escalate", "no_sandbox")]


async def test_with_a_sandbox_automatic_approval_stays_as_it_is(turn: GuardedTurn) -> None:
    await require_sandbox()
    services = services_for(turn, [shell_call("echo ran")], Approval=AUTOMATIC)

    assert "ran" in (await results(turn, services, Sandbox()))[0]
    assert turn.gate.asked == []


async def test_a_person_who_refuses_keeps_it_from_running(turn: GuardedTurn) -> None:
    turn.gate.decision = Decision.reject("no")
    services = services_for(turn, [shell_call("echo x > made.txt")], "/nowhere/bwrap", Approval=AUTOMATIC)

    assert (await results(turn, services, Sandbox())) == ["denied: no"]
    assert not (turn.folder / "data" / "files" / "made.txt").exists()


async def test_a_tool_of_low_risk_that_runs_a_program_asks_too(turn: GuardedTurn) -> None:
    services = services_for(turn, [ToolCall("c1", "count_files", {})], "/nowhere/bwrap")

    assert (await results(turn, services, Sandbox())) == ["2\n"]
    assert [each.call_id for each in turn.gate.asked] == ["c1"]


async def test_without_the_guard_nothing_runs_outside_a_sandbox(turn: GuardedTurn) -> None:
    services = services_for(turn, [shell_call("echo x > made.txt")], "/nowhere/bwrap", Approval=AUTOMATIC)
    [result] = await results(turn, services)

    assert "the guard that would ask a person is not in this chain" in result
    assert not (turn.folder / "data" / "files" / "made.txt").exists()


async def test_with_the_sandbox_off_the_attack_succeeds(turn: GuardedTurn) -> None:
    [result] = await turn.run([], [shell_call("cat ../../appsettings.json && echo read")])

    assert "{}read" in result


async def test_a_probe_that_fails_blocks_the_call(turn: GuardedTurn, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(program: str) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr("sophon_middlewares.guards.unsandboxed_programs.probe_sandbox", fail)
    services = services_for(turn, [shell_call("echo x > made.txt")], Approval=AUTOMATIC)
    [result] = await results(turn, services, Sandbox())

    assert result == "blocked by Sandbox (guard_failed): the check failed: broken"


async def test_a_call_that_was_approved_for_the_sandbox_never_runs_without_it(turn: GuardedTurn) -> None:
    await require_sandbox()
    turn.gate.decision = Decision.suspend()
    chain = Pipeline.compose(AgenticLoop(), Sandbox(), Approval(), ToolExecution(), LlmInvoker())
    ctx = services_for(turn, [shell_call("echo ran")]).turn("hi")
    await chain.run(ctx)

    turn.gate.decision = Decision.approve()
    later = services_for(turn, [shell_call("echo again", "c2")], "/nowhere/bwrap").restore(ctx.state())
    await chain.run(later)

    first, second = (message.content for message in later.messages if message.role == "tool")
    assert first.startswith("blocked by Sandbox (sandbox_lost): it was judged to run in a sandbox")
    assert "again" in second


def test_the_guard_stands_in_front_of_the_approval_where_it_is_enabled() -> None:
    on = GuardsSettings.model_validate({"Sandbox": {"Enabled": True}})
    assert "Sandbox" in twelve(Services(), find_guards(on)).explain()
    assert "Sandbox" not in twelve(Services(), find_guards(GuardsSettings())).explain()
