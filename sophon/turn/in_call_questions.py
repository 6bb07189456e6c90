"""A question to the person of a turn that a running tool call waits for: the turn is held, and not suspended.

A turn that waits for people is written out elsewhere; a call that talks to a live server cannot be. So the wait is
bounded, and counts neither for the turn's active time nor for the call's timeout.
"""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Protocol, runtime_checkable

from sophon.approvals import ApprovalRequest, Decision
from sophon.context.context import Context
from sophon.events import AgentStatus, ApprovalResolved
from sophon.tools.running_call import RunningCall
from sophon.turn.approval_events import build_request_event

NOBODY_ANSWERED = "nobody answered in time"
CANCELLED = "the call that asked has ended"


class Pausable(Protocol):
    """Clock or timeout whose time can stand still."""

    def pause(self) -> None:
        """Stop its time until `resume`."""
        ...

    def resume(self) -> None:
        """End the pause."""
        ...


@contextmanager
def paused(clocks: Sequence[Pausable]) -> Generator[None]:
    """Stop the time of the clocks during the block."""
    for clock in clocks:
        clock.pause()
    try:
        yield
    finally:
        for clock in clocks:
            clock.resume()


@runtime_checkable
class HoldingGate(Protocol):
    """Approval gate that suspends turns, but can also keep one waiting for an answer; `request` waits for nobody."""

    async def hold(self, request: ApprovalRequest, seconds: float, clocks: Sequence[Pausable], /) -> Decision:
        """Return the answer of the person, at most `seconds` after the question was stored; a rejection if there is
        none by then.

        While the person is asked the `clocks` are paused, and only then: the store may be unavailable. The question is
        withdrawn when the wait ends without an answer, by whatever reason.
        """
        ...


async def hold_question(ctx: Context, request: ApprovalRequest, call: RunningCall, seconds: float) -> Decision:
    """Ask the person of the turn, and wait at most `seconds`; `suspend` if the gate can only suspend the turn."""
    ctx.emit(AgentStatus(status="waiting_approval", detail=request.tool))
    ctx.emit(build_request_event(request))
    decision = Decision.reject(CANCELLED)
    try:
        decision = await _ask(ctx, request, seconds, (ctx.stopwatch, call.timeout))
    except TimeoutError:
        decision = Decision.reject(NOBODY_ANSWERED)
    finally:
        ctx.emit(
            ApprovalResolved(
                approval_id=request.id,
                decision="reject" if decision.verdict == "suspend" else decision.verdict,
                decided_by=decision.decided_by,
                reason=decision.reason,
            )
        )
    ctx.emit(AgentStatus(status="calling_tool", detail=request.tool))
    return decision


async def _ask(ctx: Context, request: ApprovalRequest, seconds: float, clocks: Sequence[Pausable]) -> Decision:
    gate = ctx.services.approvals
    if isinstance(gate, HoldingGate):
        return await gate.hold(request, seconds, clocks)
    with paused(clocks):
        async with ctx.services.clock.timeout(seconds) as limit:
            decision = await gate.request(request)
    if limit.expired():  # a gate that swallowed the timeout decided too late
        raise TimeoutError
    return decision
