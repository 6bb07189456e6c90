"""OpenTelemetry of a host: spans, metrics and trace context, against a collector that decodes what it gets."""

import asyncio
import logging
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("opentelemetry.sdk")

from sophon import ModelRequest, ModelResponse, Risk, Services, ToolCall, Usage, tool
from sophon.builtin_tools.programs import run_program
from sophon.errors import SettingsError
from sophon.testing import FunctionModel
from sophon.traces.trace_context import PROPAGATED, TraceContext, find_traceparent, parse_traceparent
from sophon_hosting.host import Host, RunRequest
from sophon_hosting.store.runs.contract import Run
from sophon_hosting.store.sql_host_store import SqlHostStore
from sophon_middlewares.chains import twelve
from sophon_middlewares.traces.trace import Trace
from tests.hosting.telemetry.collector import Collector, serve, values

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
SECRET = "sk-" + "a1B2c3D4" * 6


@pytest.fixture
def collector() -> Iterator[Collector]:
    level = logging.getLogger("opentelemetry").level
    with serve() as found:
        yield found
    logging.getLogger("opentelemetry").setLevel(level)


class Spy:
    """A model that calls a tool and answers; notes what each was told about the trace."""

    def __init__(self) -> None:
        self.model_saw: list[str | None] = []
        self.tool_saw: list[str | None] = []

    def services(self, **telemetry: Any) -> Services:
        @tool(risk=Risk.LOW)
        async def look(what: str) -> str:
            """Look at something."""
            self.tool_saw.append(find_traceparent())
            return f"{what} is there"

        async def answer(request: ModelRequest) -> ModelResponse:
            self.model_saw.append(find_traceparent())
            if any(each.role == "tool" for each in request.messages):
                return ModelResponse("It is here.", usage=Usage(20, 5, 30))
            return ModelResponse("", [ToolCall("c1", "look", {"what": f"the {SECRET}"})], Usage(10, 5, 15))

        settings = {"Telemetry": telemetry} if telemetry else {}
        return Services(
            models=FunctionModel(answer, name="small"), tools=[look], settings=settings, store=SqlHostStore("memory://")
        )


async def run(services: Services, text: str = "look", **message: Any) -> Run:
    """Run a turn on a host, and stop the host, which exports what waits."""
    async with Host(services, twelve(services, {"Trace": Trace()})) as host:
        receipt = await host.accept(RunRequest(text, "s", "ada", **message))
        async with asyncio.timeout(30):
            while not (found := await services.store.runs.get(receipt.task_id)).is_finished:
                await asyncio.sleep(0.01)
    return found


async def test_a_turn_is_a_tree_of_spans_below_that_of_its_sender(collector: Collector):
    spy = Spy()
    header = f"00-{TRACE}-{SPAN}-01"
    done = await run(spy.services(Endpoint=collector.url), trace=TRACE, traceparent=header)
    turn, call = collector.find("invoke_agent sophon"), collector.find("execute_tool look")
    chats = [each for each in collector.spans if each.name == "chat small"]
    assert {each.trace_id.hex() for each in collector.spans} == {TRACE}
    assert turn.parent_span_id.hex() == SPAN
    assert {each.parent_span_id for each in (*chats, call)} == {turn.span_id}
    assert len(chats) == 2
    assert len({each.span_id for each in collector.spans}) == len(collector.spans)
    assert all(turn.start_time_unix_nano <= each.start_time_unix_nano <= each.end_time_unix_nano for each in chats)
    assert values(turn.attributes)["sophon.task.id"] == done.id
    assert collector.resources[0]["service.name"] == "sophon"


async def test_spans_have_the_names_of_the_conventions_and_no_content(collector: Collector):
    await run(Spy().services(Endpoint=collector.url))
    turn = values(collector.find("invoke_agent sophon").attributes)
    chat = values(next(each for each in collector.spans if each.name == "chat small").attributes)
    call = values(collector.find("execute_tool look").attributes)
    assert (turn["gen_ai.operation.name"], turn["gen_ai.conversation.id"]) == ("invoke_agent", "s")
    assert (turn["gen_ai.usage.input_tokens"], turn["gen_ai.response.finish_reasons"]) == (30, ["stop"])
    assert (chat["gen_ai.operation.name"], chat["gen_ai.request.model"]) == ("chat", "small")
    assert chat["gen_ai.usage.output_tokens"] == 5
    assert (call["gen_ai.operation.name"], call["gen_ai.tool.call.id"]) == ("execute_tool", "c1")
    shown = " ".join(str(values(each.attributes)) for each in collector.spans)
    assert not any(each in shown for each in ("It is here", "gen_ai.input.messages", "arguments", "ada", SECRET))


async def test_content_is_exported_if_the_settings_say_so_without_secrets(collector: Collector):
    await run(Spy().services(Endpoint=collector.url, Content=True), f"look with {SECRET}")
    turn = values(collector.find("invoke_agent sophon").attributes)
    assert "look with" in turn["gen_ai.input.messages"]
    assert "It is here." in turn["gen_ai.output.messages"]
    assert "what" in values(collector.find("execute_tool look").attributes)["gen_ai.tool.call.arguments"]
    assert SECRET not in " ".join(str(values(each.attributes)) for each in collector.spans)


async def test_tokens_and_durations_are_histograms_without_ids(collector: Collector):
    await run(Spy().services(Endpoint=collector.url))
    metrics = {each.name: each for each in collector.metrics}
    points = metrics["gen_ai.client.token.usage"].histogram.data_points
    assert {values(each.attributes)["gen_ai.token.type"]: each.sum for each in points} == {"input": 30, "output": 10}
    seconds = metrics["gen_ai.client.operation.duration"].histogram.data_points
    assert {values(each.attributes)["gen_ai.operation.name"] for each in seconds} == {"chat", "invoke_agent"}
    assert not any({"ada", "s"} & set(map(str, values(each.attributes).values())) for each in (*points, *seconds))


async def test_the_model_and_the_tool_get_the_trace_of_the_turn(collector: Collector):
    spy = Spy()
    await run(spy.services(Endpoint=collector.url), trace=TRACE, traceparent=f"00-{TRACE}-{SPAN}-01")
    told = [parse_traceparent(each) for each in (*spy.model_saw, *spy.tool_saw)]
    assert {each.trace_id for each in told if each is not None} == {TRACE}
    spans = {each.span_id.hex(): each.name for each in collector.spans}
    assert [spans[each.span_id] for each in told if each is not None] == ["chat small"] * 2 + ["execute_tool look"]


async def test_without_an_endpoint_nothing_is_passed_on():
    spy = Spy()
    await run(spy.services(), trace=TRACE, traceparent=f"00-{TRACE}-{SPAN}-01")
    assert spy.model_saw == [None, None]
    assert spy.tool_saw == [None]


async def test_what_the_sender_does_not_record_is_not_exported(collector: Collector):
    spy = Spy()
    await run(spy.services(Endpoint=collector.url), trace=TRACE, traceparent=f"00-{TRACE}-{SPAN}-00")
    assert not collector.spans
    assert spy.model_saw[0] is not None
    assert spy.model_saw[0].endswith("-00")


async def test_a_collector_that_fails_costs_the_turn_nothing_and_one_line(
    collector: Collector, caplog: pytest.LogCaptureFixture
):
    collector.status = 400
    caplog.set_level(logging.INFO)
    done = await run(Spy().services(Endpoint=collector.url))
    assert done.status == "completed"
    lines = [each.getMessage() for each in caplog.records if "telemetry" in each.getMessage()]
    assert len(lines) == 1
    assert "cannot be exported" in lines[0]
    assert not [each for each in caplog.records if each.name.startswith("opentelemetry")]


async def test_headers_of_the_settings_are_sent(collector: Collector):
    await run(Spy().services(Endpoint=f"{collector.url}/", Headers={"Authorization": "Bearer hush"}))
    assert {each.get("authorization", each.get("Authorization")) for each in collector.headers} == {"Bearer hush"}


async def test_a_program_gets_the_trace_in_its_environment(tmp_path: Any):
    services = Services(folder=tmp_path, store=SqlHostStore("memory://"))
    ctx = services.turn("hi")
    token = PROPAGATED.set(TraceContext(TRACE, SPAN))
    try:
        passed = await run_program(ctx, ["/usr/bin/env"])
    finally:
        PROPAGATED.reset(token)
    without = await run_program(ctx, ["/usr/bin/env"])
    assert f"TRACEPARENT=00-{TRACE}-{SPAN}-01" in str(passed)
    assert "TRACEPARENT" not in str(without)


async def test_without_the_extra_a_host_does_not_start(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "sophon_hosting.telemetry.exporter", None)
    services = Spy().services(Endpoint="http://127.0.0.1:4318")
    with pytest.raises(SettingsError, match="sophon-agents\\[otel\\]"):
        await Host(services, twelve(services)).start()


def test_telemetry_needs_traces():
    with pytest.raises(SettingsError, match=r"Traces\.Enabled"):
        Services(
            settings={"Telemetry": {"Endpoint": "http://127.0.0.1:4318"}, "Traces": {"Enabled": False}},
            store=SqlHostStore("memory://"),
        )


OFF = """
import asyncio, sys
from sophon import Services
from sophon_hosting.store.sql_host_store import SqlHostStore
from sophon.testing import FunctionModel
from sophon_hosting.host_chain import build_pipelines
from sophon_hosting.host import Host, RunRequest

async def answer(request):
    return "hello"

async def main():
    services = Services(models=FunctionModel(answer), store=SqlHostStore("memory://"))
    async with Host(services, build_pipelines(services)) as host:
        receipt = await host.accept(RunRequest("hi", "s"))
        while not (await services.store.runs.get(receipt.task_id)).is_finished:
            await asyncio.sleep(0.01)

asyncio.run(main())
found = [name for name in sys.modules if name.startswith(("opentelemetry", "sophon_hosting.telemetry."))]
print(found)
"""


def test_without_an_endpoint_nothing_of_it_is_imported():
    done = subprocess.run([sys.executable, "-c", OFF], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['sophon_hosting.telemetry.setup']"
