"""The work of a sub-agent: its turn in a task of its own, with a time limit and a cancellation of its own."""

import asyncio
from collections.abc import Awaitable, Callable

from sophon._python.lazy_dataclass import dataclass
from sophon.agents.agent_runtime import AgentRuntime
from sophon.agents.running_agents import RunningAgent
from sophon.cancellation import run_despite_cancellation
from sophon.context import Context, TurnRunner
from sophon.errors import BudgetExceeded, ChainError, SophonError
from sophon.events import AgentState
from sophon.messages import Response
from sophon.tools.truncation import truncate

MAX_REASON_CHARACTERS = 1000
"""Maximum characters kept of an error."""

STOP_SECONDS = 10.0
"""How long a cancelled sub-agent may take to stop before it is given up."""

CHECK_SECONDS = 5.0
"""Interval at which a request of another process to cancel is looked for."""


@dataclass(frozen=True, slots=True)
class SubAgentEnd:
    """How the work ended; `working` means that it waits for a person. `text` is the answer, or the reason."""

    state: AgentState
    text: str
    seconds: float = 0.0


def end_from_response(response: Response) -> SubAgentEnd:
    """Convert the response of a sub-agent's turn."""
    match response.finish_reason:
        case "stop" | "length" | "max_iterations":
            return SubAgentEnd("completed", response.full_text)
        case "suspended":
            return SubAgentEnd("working", response.text)
        case reason:
            return SubAgentEnd("failed", truncate(f"it ended with {reason}: {response.text}", MAX_REASON_CHARACTERS))


class SubAgentWork:
    """Runs the turn of one sub-agent. `is_cancel_requested` is asked now and then, for a request from elsewhere."""

    def __init__(
        self,
        child: Context,
        runtime: AgentRuntime,
        pipeline: TurnRunner,
        agent: str,
        *,
        parent_id: str,
        is_cancel_requested: Callable[[], Awaitable[bool]] | None = None,
    ) -> None:
        self._child, self._pipeline, self._is_cancel_requested = child, pipeline, is_cancel_requested
        self._runtime = runtime
        self._running = RunningAgent(
            child.run_id,
            agent,
            child.task_id,
            parent_id,
            child.session_id,
            child.principal,
            child.services.clock.now(),
        )

    async def run(self, limit_seconds: float, *, used_seconds: float = 0.0) -> SubAgentEnd:
        """Run the turn until it ends, is suspended, has taken `limit_seconds`, or is cancelled; `used_seconds` of them
        are gone. The time in which the turn waits for a person does not count. A cancellation of the whole turn stops
        it first and propagates. Raises BudgetExceeded, and anything that is no SophonError.
        """
        stopwatch, running = self._child.stopwatch, self._running
        start = stopwatch.seconds - used_seconds
        work = asyncio.create_task(self._run_turn())
        running.work = work
        self._runtime.running.add(running)
        is_late = False
        try:
            while not work.done() and not running.is_cancel_requested:
                is_late = stopwatch.seconds - start >= limit_seconds
                if is_late or await self._is_cancelled_elsewhere():
                    break
                await self._wait(work, limit_seconds - (stopwatch.seconds - start))
        finally:
            self._runtime.running.remove(running)
            if not work.done():
                await self._stop(work)
        used = stopwatch.seconds - start
        if work.cancelled() or not work.done():
            if running.is_cancel_requested:
                return SubAgentEnd("cancelled", "it was cancelled before it had an answer", used)
            if is_late:
                return SubAgentEnd("timed_out", f"it did not finish within {limit_seconds:g} seconds", used)
            raise ChainError("a sub-agent was cancelled from within, though nobody cancelled it")
        end = work.result()
        return SubAgentEnd(end.state, end.text, used)

    async def _run_turn(self) -> SubAgentEnd:
        try:
            return end_from_response(await self._pipeline.run(self._child))
        except (BudgetExceeded, ChainError):
            raise
        except SophonError as error:
            return SubAgentEnd("failed", truncate(str(error), MAX_REASON_CHARACTERS))

    async def _wait(self, work: "asyncio.Task[SubAgentEnd]", seconds: float) -> None:
        try:
            async with self._child.services.clock.timeout(max(0.0, min(seconds, CHECK_SECONDS))):
                await asyncio.wait({work})
        except TimeoutError:
            pass

    async def _is_cancelled_elsewhere(self) -> bool:
        if self._is_cancel_requested is not None and await self._is_cancel_requested():
            self._running.is_cancel_requested = True
        return self._running.is_cancel_requested

    async def _stop(self, work: "asyncio.Task[SubAgentEnd]") -> None:
        """Cancel the turn and wait for its end, whatever cancellations arrive meanwhile: it ends before its parent."""
        work.cancel()
        waiting = asyncio.wait({work}, timeout=STOP_SECONDS)
        await run_despite_cancellation(waiting, 2 * STOP_SECONDS, is_cancelled=True)
        if work.done() and not work.cancelled():
            work.exception()  # read: the cancellation goes first
