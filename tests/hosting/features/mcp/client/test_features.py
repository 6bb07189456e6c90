"""What a server offers besides tools, how its calls are shown and cancelled, and what of a list is kept."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sophon.events import AgentStatus
from sophon.tools.untrusted_text import unfence_text
from sophon.traces.trace_context import PROPAGATED, TraceContext, derive_span_id
from sophon_hosting.features.mcp.client.resource_and_prompt_text import (
    contents_to_text,
    prompts_to_text,
    resources_to_text,
)
from sophon_hosting.features.mcp.client.server_call import format_progress
from sophon_hosting.features.mcp.events import McpRequested
from sophon_hosting.features.mcp.results import mcp_server_to_json
from tests.hosting.features.mcp.client.sites import Site, bad, call, featured, running

pytestmark = pytest.mark.anyio

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


@pytest.fixture(scope="module")
async def sites(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[dict[str, tuple[Site, Path]]]:
    """A site for each protocol, with the file that its server makes once a call is cancelled."""
    new, old = (tmp_path_factory.mktemp(name) / "ended" for name in ("new", "old"))
    async with (
        running(featured("srv", str(new))) as auto,
        running(featured("srv", str(old), Protocol="Legacy")) as legacy,
    ):
        yield {"Auto": (auto, new), "Legacy": (legacy, old)}


@pytest.fixture
def site(sites: dict[str, tuple[Site, Path]]) -> Site:
    sites["Auto"][0].forget()
    return sites["Auto"][0]


async def test_resources_and_prompts_are_read_as_untrusted_text(site: Site) -> None:
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


@pytest.mark.parametrize("protocol", ["Auto", "Legacy"])
async def test_progress_is_shown_and_a_cancelled_turn_is_cancelled_at_the_server(
    sites: dict[str, tuple[Site, Path]], protocol: str
) -> None:
    site, ended = sites[protocol]
    turn = asyncio.create_task(site.call(call("srv.wait")))
    shown = AgentStatus(status="calling_tool", detail="srv.wait: 1")
    await site.until(lambda: any(_same(shown, each) for each in site.events.events))
    turn.cancel()
    await asyncio.gather(turn, return_exceptions=True)
    await site.until(ended.exists)


@pytest.mark.parametrize("protocol", ["Auto", "Legacy"])
async def test_a_server_is_told_the_span_of_the_call_and_nothing_without_a_trace(
    sites: dict[str, tuple[Site, Path]], protocol: str
) -> None:
    site, _ = sites[protocol]
    [result] = await site.call(call("srv.told"))
    assert json.loads(unfence_text(result)).get("traceparent") is None
    site.forget()
    token = PROPAGATED.set(TraceContext(TRACE, SPAN))
    try:
        [result] = await site.call(call("srv.told"))
    finally:
        PROPAGATED.reset(token)
    task = next(each.task_id for each in site.events.events if each.task_id)
    assert json.loads(unfence_text(result))["traceparent"] == f"00-{TRACE}-{derive_span_id(task, 'c')}-01"


async def test_without_the_setting_no_server_is_told_that_it_may_ask(site: Site) -> None:
    assert "elicitation" in (await site.call(call("srv.book")))[0].casefold()
    assert site.gate.asked == []


def _same(wanted: AgentStatus, event: object) -> bool:
    return isinstance(event, AgentStatus) and (event.status, event.detail) == (wanted.status, wanted.detail)


async def test_progress_prolongs_no_call_and_a_reader_can_be_disabled_like_every_tool(tmp_path: Path) -> None:
    server = featured("srv", str(tmp_path / "ended"), Timeout="00:00:00.3")
    async with running(server, Tools={"Disabled": ["srv.resources.read"]}) as site:
        assert "srv.resources.read" not in site.services.registry
        assert "srv.resources.list" in site.services.registry
        assert "did not finish within 0.3 seconds" in (await site.call(call("srv.wait")))[0]
        await site.until((tmp_path / "ended").exists)


def test_progress_is_one_line_whatever_the_server_writes() -> None:
    assert format_progress("a.b", 3, 10, "x\ny\u202e" + "z" * 500).startswith("a.b: 3 of 10 x y⟦U+202E⟧z")
    assert len(format_progress("a.b", 3, None, "z" * 500)) < 250


async def test_a_change_of_the_tools_is_noticed_in_the_protocol_of_2026(site: Site) -> None:
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
