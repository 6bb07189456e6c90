"""The `traceparent` of a turn on its way to a provider: in the request of each adapter, as it arrives at a server."""

from typing import Any

from sophon.models.gateway.api_keys import ApiKeyPool
from sophon.models.gateway.failover_gateway import ModelGateway
from sophon.models.gateway.provider import Provider
from sophon.testing import VirtualClock
from sophon.traces.trace_context import HEADER, PROPAGATED, TraceContext, parse_traceparent

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


async def ask(adapters: Any, server: Any, kit: Any, *, retried: bool = False) -> list[str | None]:
    """Make a model call through the gateway; return the header of each request."""
    clock, model = VirtualClock(), await adapters.at(server)
    if retried:
        server.refuses(500)
    server.says("Good day")
    gateway = ModelGateway([Provider("p", [model], keys=ApiKeyPool(("sk-one",), clock))], clock=clock)
    await gateway.call(kit.request(model), gateway.candidates())
    return [each.headers.get(HEADER) for each in server.seen]


async def test_each_attempt_passes_on_a_span_of_its_own(adapters: Any, server: Any, kit: Any) -> None:
    token = PROPAGATED.set(TraceContext(TRACE, SPAN, sampled=False))
    try:
        headers = await ask(adapters, server, kit, retried=True)
    finally:
        PROPAGATED.reset(token)
    found = [parse_traceparent(each) for each in headers]
    assert [(each.trace_id, each.sampled) for each in found if each is not None] == [(TRACE, False)] * 2
    assert len({SPAN, *(each.span_id for each in found if each is not None)}) == 3


async def test_without_a_trace_no_request_has_the_header(adapters: Any, server: Any, kit: Any) -> None:
    assert await ask(adapters, server, kit) == [None]
