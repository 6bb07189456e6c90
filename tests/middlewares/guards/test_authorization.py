"""Authorization: who may use which tool, what the model is offered, and that nothing fails open."""

from dataclasses import replace
from typing import Any

import pytest

from sophon import Context, ModelRequest, Pipeline, Services, ToolCall
from sophon.operator_policy import OperatorPolicy
from sophon.testing import FunctionModel
from sophon.turn.permissions import find_tool_permissions
from sophon_middlewares import AgenticLoop, LlmInvoker, Planning, ToolExecution, ToolFilter
from sophon_middlewares.chains import CHAINS
from sophon_middlewares.guards import authorization
from sophon_middlewares.guards.authorization import Authorization
from tests.middlewares.guards.conftest import GuardedTurn, write_call
from tests.tables import table

READ = ToolCall("c1", "files.read", {"path": "notes.txt"})
DENY_READ = {"Principal": "bob", "Resource": "tool:files.read", "Effect": "Deny"}


def settings(*rules: dict[str, Any], **permissions: Any) -> dict[str, Any]:
    return {"Guards": {"Authorization": {"Enabled": True, "Rules": list(rules)}}, "Permissions": permissions}


def rule(principal: str, effect: str = "Allow", **conditions: Any) -> dict[str, Any]:
    found = {"Principal": principal, "Resource": "tool:files.*", "Effect": effect}
    return {**found, "Conditions": conditions} if conditions else found


NO_TOOLS = {"Levels": {"User": {"Tools": []}}}
GROUP = {"group": True, "data_owner": "telegram:chat:-100", "channel": "telegram"}


@pytest.mark.parametrize(
    ("chosen", "turn_options", "allowed"),
    [
        (settings(), {"principal": "bob"}, True),
        (settings(), {}, True),
        (settings(**NO_TOOLS), {"principal": "bob"}, False),
        (settings(Users={"*": {"Level": "ZeroTrust"}}), {"principal": "bob"}, False),
        (settings(Users={"*": {"Level": "ZeroTrust"}, "bob": {"Level": "User"}}), {"principal": "bob"}, True),
        (settings(Channels={"telegram": {"Level": "ZeroTrust"}}), {"principal": "bob", "channel": "hub"}, True),
        (settings(Channels={"telegram": {"Level": "ZeroTrust"}}), {"principal": "bob", "channel": "telegram"}, False),
        (settings(Chats={"telegram:chat:-100": {"Level": "ZeroTrust"}}), {"principal": "bob", **GROUP}, False),
        (settings(DENY_READ), {"principal": "bob"}, False),
        (settings(DENY_READ), {"principal": "ann"}, True),
        (settings(rule("bob"), **NO_TOOLS), {"principal": "bob"}, True),
        (settings(rule("bob"), **NO_TOOLS), {"principal": "ann"}, False),
        (settings(rule("bob"), rule("*", "Deny")), {"principal": "bob"}, False),
        (settings(rule("role:User", "Deny")), {"principal": "bob"}, False),
        (settings(rule("role:editor"), Users={"bob": {"Roles": ["editor"]}}, **NO_TOOLS), {"principal": "bob"}, True),
        (settings(rule("telegram:chat:-100"), **NO_TOOLS), {"principal": "bob", **GROUP}, True),
        (settings(rule("telegram:chat:-100"), **NO_TOOLS), {"principal": "bob"}, False),
        (settings(rule("*", Channels=["hub"]), **NO_TOOLS), {"principal": "bob", "channel": "hub"}, True),
        (settings(rule("*", Channels=["hub"]), **NO_TOOLS), {"principal": "bob", "channel": "telegram"}, False),
        (settings(rule("*", MaxCost=0.5), **NO_TOOLS), {"principal": "bob"}, True),
    ],
)
async def test_a_tool_runs_only_with_a_permission(
    turn: GuardedTurn, chosen: dict[str, Any], turn_options: dict[str, Any], allowed: bool
) -> None:
    turn.settings = chosen
    [result] = await turn.run([Authorization()], [READ], **turn_options)

    assert result.startswith("blocked by Authorization") is not allowed, result
    assert bool(turn.verdicts()) is not allowed


async def test_the_verdict_names_the_rule_that_denies(turn: GuardedTurn) -> None:
    turn.settings = settings(rule("ann"), DENY_READ)
    results = await turn.run([Authorization()], [READ, write_call("x.txt", call_id="c2")], principal="bob")

    assert results[0] == "blocked by Authorization (rule_2): a rule denies files.read to bob (level User)"
    assert turn.verdicts() == [("c1", "Authorization", "block", "rule_2")]
    assert "x.txt" in results[1]


@pytest.mark.parametrize(("enabled", "files"), [({"Enabled": False}, 1), ({}, 0), ({"Enabled": True}, 0)])
async def test_a_chain_without_the_guard_obeys_the_permissions_too(
    turn: GuardedTurn, enabled: dict[str, Any], files: int
) -> None:
    turn.settings = {"Guards": {"Authorization": {**enabled, "Rules": [rule("bob", "Deny")]}}}
    [result] = await turn.run([], [write_call("x.txt")], principal="bob")

    assert len(list(turn.folder.rglob("x.txt"))) == files
    assert ("bob (level User) may not use files.write" in result) is (files == 0)


async def test_a_guard_that_fails_blocks(turn: GuardedTurn, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(ctx: Context) -> None:
        if ctx.settling:
            raise RuntimeError("the rules are gone")

    turn.settings = settings()
    original = find_tool_permissions
    monkeypatch.setattr(authorization, "find_tool_permissions", lambda ctx: fail(ctx) or original(ctx))  # pyright: ignore
    [result] = await turn.run([Authorization()], [READ])

    assert result.startswith("blocked by Authorization (guard_failed)")


async def test_a_check_that_fails_before_the_run_blocks(turn: GuardedTurn, monkeypatch: pytest.MonkeyPatch) -> None:
    original, asked = find_tool_permissions, list[int]()

    def fail_at_the_check(ctx: Context) -> object:
        asked.append(1)
        if len(asked) > 1:  # the judgement, the check
            raise RuntimeError("the rules are gone")
        return original(ctx)

    turn.settings = settings()
    monkeypatch.setattr(authorization, "find_tool_permissions", fail_at_the_check)
    [result] = await turn.run([Authorization()], [READ])

    assert "blocked by Authorization (guard_failed)" in result


async def test_a_permission_that_ended_while_a_person_decided_does_not_count(turn: GuardedTurn) -> None:
    turn.settings = settings(rule("*", MaxCost=0.5), **NO_TOOLS)
    ctx = turn.build([write_call("x.txt")])

    def spend(_: object) -> None:
        ctx.tally.metered.cost_micros = 1_000_000

    turn.gate.on_request = spend
    await turn.chain(Authorization()).run(ctx)

    assert [each.call_id for each in turn.gate.asked] == ["c1"]
    assert turn.verdicts() == [("c1", "Authorization", "block", "not_permitted")]
    assert list(turn.folder.rglob("x.txt")) == []


async def test_an_unknown_price_meets_no_limit_of_cost(turn: GuardedTurn) -> None:
    turn.settings = settings(rule("*", MaxCost=0.5), **NO_TOOLS)
    ctx = turn.build([READ])
    assert find_tool_permissions(ctx).decide("files.read").allowed
    ctx.tally.metered.cost_micros = 500_001
    assert not find_tool_permissions(ctx).decide("files.read").allowed
    ctx.tally.metered.cost_micros, ctx.tally.metered.unpriced_tokens = 0, 5
    assert not find_tool_permissions(ctx).decide("files.read").allowed


async def test_an_operator_has_the_level_admin(turn: GuardedTurn) -> None:
    turn.settings = settings(**NO_TOOLS)
    ctx = turn.build([READ], principal="ada")
    turn.services.security = replace(turn.services.security, operator_policy=OperatorPolicy(frozenset({"ada"})))

    assert find_tool_permissions(ctx).decide("files.read").allowed


async def offered(chosen: dict[str, Any], chain: Pipeline, text: str = "hi") -> list[list[str]]:
    """Return the names of the tools that each model call was offered."""
    requests: list[list[str]] = []

    async def answer(request: ModelRequest) -> str:
        requests.append([each.name for each in request.tools])
        return "done"

    services = Services(models=FunctionModel(answer), settings=chosen)
    await chain.run(services.turn(text, principal="bob"))
    return requests


async def test_the_model_is_offered_only_permitted_tools() -> None:
    chain = Pipeline.compose(AgenticLoop(), Authorization(), ToolExecution(), LlmInvoker())

    assert await offered(settings(rule("bob"), **NO_TOOLS), chain) == [
        [name for name in (await offered(settings(), chain))[0] if name.startswith("files.")]
    ]
    assert await offered(settings(Users={"bob": {"Level": "ZeroTrust"}}), chain) == [[]]


@table("name", CHAINS)
async def test_a_chain_of_a_program_offers_no_tool_that_its_turns_may_not_use(name: str) -> None:
    chosen = settings(Users={"bob": {"Level": "ZeroTrust"}})
    assert await offered(chosen, CHAINS[name](Services(settings=chosen)), "hello there") == [[]]


async def test_forbidden_tools_take_no_place_among_the_offered_ones() -> None:
    chosen = {**settings(rule("bob"), **NO_TOOLS), "ToolFilter": {"Top": 3}}
    chain = Pipeline.compose(ToolFilter(), AgenticLoop(), Authorization(), ToolExecution(), LlmInvoker())

    [names] = await offered(chosen, chain, "what time is it")
    assert len(names) == 3
    assert all(name.startswith("files.") for name in names)


async def test_loading_a_group_offers_only_permitted_tools(turn: GuardedTurn) -> None:
    turn.settings = {
        **settings(rule("bob", "Deny"), {"Principal": "bob", "Resource": "tool:load_tools", "Effect": "Allow"}),
        "ToolFilter": {"Top": 1},
    }
    load = ToolCall("c1", "load_tools", {"group": "files"})
    [result] = await turn.run([Authorization()], [load], principal="bob")

    assert "are not permitted in this conversation" in result


async def test_a_plan_names_only_permitted_tools() -> None:
    prompts: list[str] = []

    async def answer(request: ModelRequest) -> str:
        if request.purpose == "plan":
            prompts.append(request.messages[0].content)
        return "done"

    services = Services(models=FunctionModel(answer), settings=settings(rule("bob"), **NO_TOOLS))
    chain = Pipeline.compose(Planning(), AgenticLoop(), Authorization(), ToolExecution(), LlmInvoker())
    await chain.run(services.turn("find and read and write and send it", planning="Always", principal="bob"))

    assert "- files.read" in prompts[0]
    assert "- http.request" not in prompts[0]
