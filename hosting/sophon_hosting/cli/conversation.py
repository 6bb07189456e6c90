"""A conversation from the command line: one turn after another, each with its one visible end."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from sophon.errors import NotFound, SophonError
from sophon.events import Event
from sophon.messages import Response
from sophon.services import Services
from sophon_hosting.access import LOCAL_USER
from sophon_hosting.cli.errors import FAILED, INTERRUPTED, lines_of
from sophon_hosting.cli.interruption import Ending
from sophon_hosting.composition import chain_of

T = TypeVar("T")

log = logging.getLogger("sophon.cli")

WELL_ENDED = frozenset({"stop", "length", "tool_calls", "rejected"})
"""Ends of a turn that a script may call a success; what a person refused was refused as asked."""


class View(Protocol):
    """Whoever shows the turns."""

    def begin(self) -> None:
        """A turn begins."""
        ...

    def emit(self, event: Event, /) -> None:
        """Something happened."""
        ...

    def end(self, response: Response, session_id: str) -> None:
        """The turn is over."""
        ...


@dataclass(slots=True)
class Choices:
    """What the person chose for the turns; None leaves it to the settings."""

    session: str
    model: str | None = None
    planning: str | None = None
    stream: bool = True


@dataclass(slots=True)
class Front:
    """What a conversation has towards its person: the view, a way to tell mistakes, and whether the end was asked."""

    view: View
    tell: Callable[[str], None]
    ending: Ending = field(default_factory=Ending)


class Conversation:
    """Runs turns through the chain of the settings, one at a time; Ctrl-C cancels the turn that runs.

    Raises what `chain_of` raises.
    """

    def __init__(self, runner: asyncio.Runner, services: Services, choices: Choices, front: Front) -> None:
        self.services = services
        self.choices = choices
        self.front = front
        self._runner = runner
        self._pipeline = chain_of(services)

    def say(self, text: str) -> int:
        """One turn; its exit code. A failed or cancelled turn has told so when this returns.

        Only an interrupt leaves, and only when the program is to end.
        """
        self.front.view.begin()
        try:
            response = self._runner.run(self._turn(text))
        except Exception as error:  # noqa: BLE001 - the outermost layer of a turn: it tells, and the next turn may go well
            return self._failed(error)
        except KeyboardInterrupt:
            self._end(Response(finish_reason="cancelled"))
            if self.front.ending.asked:
                raise
            return INTERRUPTED
        self._end(response)
        return 0 if response.finish_reason in WELL_ENDED else FAILED

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        """Something beside a turn, on the same loop."""
        return self._runner.run(work)

    def messages(self) -> int:
        """How many messages the session holds; 0 for one that does not exist yet."""
        try:
            return self.do(self.services.store.sessions.get(self.choices.session)).messages
        except NotFound:
            return 0

    def cut_off(self) -> bool:
        """Whether the last turn of the session has neither an answer nor an end: the program ended in its middle."""
        sessions = self.services.store.sessions
        said = self.messages()
        # A message is an entry of the log, so the last entry is never before the last message.
        tail = self.do(sessions.records(self.choices.session, said - 1)) if said else []
        last = tail[-1].message if tail else None
        return last is not None and (last.role != "assistant" or bool(last.tool_calls))

    async def _turn(self, text: str) -> Response:
        ctx = self.services.turn(
            text,
            session_id=self.choices.session,
            stream=self.choices.stream,
            model=self.choices.model,
            planning=self.choices.planning,
            channel="cli",
            principal=LOCAL_USER,
        )
        response = await self._pipeline.run(ctx)
        while response.finish_reason == "suspended":
            # Nobody answered in time and Approval.OnTimeout is Park: the turn is kept, so the person is asked again.
            ctx = self.services.restore(ctx.state())
            response = await self._pipeline.run(ctx)
        return response

    def _failed(self, error: Exception) -> int:
        log.error("the turn failed", exc_info=error)
        code = error.code if isinstance(error, SophonError) else "internal"
        self._end(Response(finish_reason="error", detail={"error": {"code": code, "message": str(error)}}))
        for line in lines_of(error):
            self.front.tell(line)
        return FAILED

    def _end(self, response: Response) -> None:
        self.front.view.end(response, self.choices.session)
