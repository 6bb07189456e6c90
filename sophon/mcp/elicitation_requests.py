"""Questions of one server on their way to the right turn.

Before the protocol of 2026 a question does not say for which call it is. It goes to the turn that has calls in flight;
if several turns have, it is declined: a question must not reach another person than the one whose call it is about.
"""

import logging
from collections.abc import Generator
from contextlib import contextmanager

import anyio
from mcp.client.session import ClientRequestContext
from mcp_types import ElicitRequestFormParams, ElicitRequestParams, ElicitResult

from sophon.failure_log import log_failure
from sophon.mcp.elicitation_form import FieldValue
from sophon.mcp.server_call import ServerCall

log = logging.getLogger("sophon")


class ElicitationRequests:
    """Calls in flight of one connection, and the callback for the questions of its server."""

    def __init__(self) -> None:
        self._calls: list[ServerCall] = []

    @contextmanager
    def expect(self, call: ServerCall) -> Generator[None]:
        """Let the server ask for this call within the block; at its end, its open questions are withdrawn."""
        self._calls.append(call)
        try:
            yield
        finally:
            self._calls.remove(call)
            call.end()

    async def receive(self, context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        """Answer a question that names no call."""
        call = self._find_call()
        return ElicitResult(action="decline") if call is None else await self.answer(call, params)

    async def answer(self, call: ServerCall, params: ElicitRequestParams) -> ElicitResult:
        """Ask the person of a call. What is no form, as a page to open, is declined."""
        if call.eliciting is None or not isinstance(params, ElicitRequestFormParams):
            log.info("a question of an MCP server was declined: it is no form, or nobody can be asked")
            return ElicitResult(action="decline")
        with anyio.CancelScope() as scope:
            call.scopes.add(scope)
            try:
                answer = await call.eliciting.ask_form(params.message, params.requested_schema)
                content: dict[str, FieldValue | None] | None = None
                if answer.content is not None:
                    content = {**answer.content}
                return ElicitResult(action=answer.action, content=content)
            except Exception as error:  # noqa: BLE001 - logged; the server must get an answer whatever happens here
                log_failure(log, error, "a question of an MCP server could not be asked")
            finally:
                call.scopes.discard(scope)
        return ElicitResult(action="cancel")

    def _find_call(self) -> ServerCall | None:
        if len({call.run_id for call in self._calls}) != 1:
            log.info("a question of an MCP server was declined: it belongs to no single turn")
            return None
        return self._calls[-1]
