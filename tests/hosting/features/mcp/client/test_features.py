"""What a server offers besides tools, how its calls are shown and cancelled, and what of a list is kept."""

import asyncio
from pathlib import Path

import pytest

from sophon.events import AgentStatus
from sophon_hosting.features.mcp.client.resource_and_prompt_text import (
    contents_to_text,
    prompts_to_text,
    resources_to_text,
)
from sophon_hosting.features.mcp.client.server_call import format_progress
from sophon_hosting.features.mcp.events import McpRequested
from sophon_hosting.features.mcp.results import mcp_server_to_json
from tests.hosting.features.mcp.client.sites import bad, call, featured, running

pytestmark = pytest.mark.anyio


async def test_resources_and_prompts_are_read_as_untrusted_text() -> None:
    async with running(featured()) as site:
        names = set(site.services.registry.groups()["mcp:srv"])
        results = await site.call(
            call("srv.resources.list"),
            call("srv.resources.read", uri="note://today"),
            call("srv.resources.read", uri="note://picture"),
            call("srv.resources.read", uri="note://monday/text"),
            call("srv.resources.read", uri="note://none/at/all"),
            call("srv.prompts.list"),
            call("srv.prompts.get", name="greet", arguments={"name": "Bob"}),
            call("srv.prompts.get", name="greet", arguments={"name": 1}),
        )
    assert {"srv.resources.read", "srv.prompts.get"} <= {getattr(each, "name", each) for each in names}
    assert all(each.startswith("<external-") for each in results[:7])
    assert "note://{day}/text" in results[0]
    assert "buy milk" in results[1]
    assert "image/png, about 402 bytes, which are not shown" in results[2]
    assert "note of monday" in results[3]
    assert "error" in results[4]
    assert "greet(name): Greet somebody." in results[5]
    assert "[user]\nSay hello to Bob." in results[6]
    assert "arguments: must be an object of texts" in results[7]


async def test_a_server_without_resources_and_prompts_has_no_tools_for_them() -> None:
    async with running(bad()) as site:
        assert "bad.resources.list" not in site.services.registry
        assert "bad.prompts.get" not in site.services.registry


async def test_a_reader_can_be_disabled_like_every_tool() -> None:
    async with running(featured(), Tools={"Disabled": ["srv.resources.read"]}) as site:
        assert "srv.resources.read" not in site.services.registry
        assert "srv.resources.list" in site.services.registry


@pytest.mark.parametrize("protocol", ["Auto", "Legacy"])
async def test_progress_is_shown_and_a_cancelled_turn_is_cancelled_at_the_server(tmp_path: Path, protocol: str) -> None:
    ended = tmp_path / "ended"
    async with running(featured("srv", str(ended), Protocol=protocol)) as site:
        turn = asyncio.create_task(site.call(call("srv.wait")))
        shown = AgentStatus(status="calling_tool", detail="srv.wait: 1")
        await site.until(lambda: any(_same(shown, each) for each in site.events.events))
        turn.cancel()
        await asyncio.gather(turn, return_exceptions=True)
        await site.until(ended.exists)


def _same(wanted: AgentStatus, event: object) -> bool:
    return isinstance(event, AgentStatus) and (event.status, event.detail) == (wanted.status, wanted.detail)


async def test_progress_prolongs_no_call(tmp_path: Path) -> None:
    async with running(featured("srv", str(tmp_path / "ended"), Timeout="00:00:00.3")) as site:
        assert "did not finish within 0.3 seconds" in (await site.call(call("srv.wait")))[0]
        await site.until((tmp_path / "ended").exists)


def test_progress_is_one_line_whatever_the_server_writes() -> None:
    assert format_progress("a.b", 3, 10, "x\ny\u202e" + "z" * 500).startswith("a.b: 3 of 10 x y⟦U+202E⟧z")
    assert len(format_progress("a.b", 3, None, "z" * 500)) < 250


async def test_a_change_of_the_tools_is_noticed_in_the_protocol_of_2026() -> None:
    async with running(featured()) as site:
        assert site.status("srv").protocol == "2026-07-28"
        await site.call(call("srv.grow"))
        await site.until(lambda: site.states("srv").get("grown") == "changed")
        assert "srv.grown" not in site.services.registry


async def test_an_invalid_tool_costs_only_itself(tmp_path: Path) -> None:
    about = tmp_path / "about"
    about.write_text("invalid")
    async with running(bad("bad", str(about))) as site:
        assert site.status().state == "ready", site.status().error
        states = site.states()
        assert "bad.echo" in site.services.registry
    assert [name for name, state in states.items() if state == "unusable"] == ["(entry 1 without a name)", "numbered"]
    assert len(states) == 11


async def test_calls_and_their_last_error_are_counted() -> None:
    async with running(bad()) as site:
        await site.call(call("bad.echo"), call("bad.fail"), call("bad.fail"))
        row = mcp_server_to_json(site.supervisor.list_status()[0])
        traced = [(each.server, each.tool, each.protocol, each.error) for each in site.events.of(McpRequested)]
    assert (row["protocol"], row["software"]) == ("2025-11-25", "misbehaving 1")
    assert traced == [("bad", "echo", "2025-11-25", ""), *[("bad", "fail", "2025-11-25", "fail")] * 2]
    found = {each["name"]: each for each in row["tools"]}
    assert (found["echo"]["calls"], found["echo"]["last_error"]) == (1, "")
    assert (found["fail"]["calls"], found["fail"]["failures"], found["fail"]["last_error"]) == (2, 2, "fail")


def test_lists_and_empty_contents_are_said_in_words() -> None:
    assert resources_to_text([], [], has_more=False) == "There are no resources."
    assert prompts_to_text([], has_more=False) == "There are no prompts."
    assert contents_to_text([]) == "The resource is empty."
    assert "there are more" in resources_to_text([{"uri": "a:b"}], [], has_more=True)
