"""What one user may do with a host: Socket.IO, HTTP and whoever else asks go through here, so each rule exists once."""

import unicodedata
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from sophon.approvals import Decision
from sophon.errors import InputError, NotFound
from sophon.stores.contracts import ApprovalRecord, SessionRecord, SessionSummary
from sophon.stores.event_contracts import LoggedEvent
from sophon.stores.run_contracts import Run, RunStatus
from sophon_hosting.access import User
from sophon_hosting.approvals import task_of
from sophon_hosting.events.frame import Listener
from sophon_hosting.events.replay import Joined
from sophon_hosting.failures import Busy, Forbidden, TooLarge, Unavailable
from sophon_hosting.host import Host, Incoming, Receipt
from sophon_hosting.observing.traces import new_trace

MAX_CONTENT_CHARACTERS = 200_000
"""Of one message. Longer texts belong in files."""

MAX_ID_CHARACTERS = 128
"""Of the ids that clients give: of sessions, and of their messages."""

HUB = "hub"
"""The channel of what comes over Socket.IO and HTTP."""


@dataclass(frozen=True, slots=True)
class SendMessage:
    """A message as a client sends it.

    `client_message_id` is its own id of it: the same one again is the same task. `trace` is the trace it belongs to,
    `instructions` are for this turn only, behind those of the host.
    """

    content: str
    session_id: str | None = None
    client_message_id: str | None = None
    stream: bool = True
    model: str | None = None
    planning: str | None = None
    trace: str | None = None
    instructions: str | None = None


class Desk:
    """One user's reach into the host.

    A user sees and changes what is their own; an operator sees everything, decides and stops everywhere, and writes
    into their own sessions only. What belongs to somebody else is Forbidden; what does not exist is NotFound.
    """

    def __init__(self, host: Host, user: User) -> None:
        self._host, self.user = host, user
        self._store = host.services.store

    async def send(self, message: SendMessage, *, before: Callable[[str], Awaitable[None]] | None = None) -> Receipt:
        """Accept a message, into a new session if it names none, or one that does not exist yet.

        `before` is awaited with the id of that session when the user may write into it and nothing has happened yet;
        for a message that was accepted before, the receipt may name another one. Raises Unavailable, InputError,
        TooLarge, Forbidden, QueueFull, NotFound for an unknown model.
        """
        if self._host.stopping:
            raise Unavailable("the host is about to stop; send it again when it is back")
        if len(message.content) > MAX_CONTENT_CHARACTERS:
            raise TooLarge("the message", len(message.content), MAX_CONTENT_CHARACTERS)
        check_id("client_message_id", message.client_message_id)
        session_id = message.session_id
        if session_id is None:  # it is made with the task, so that a message that is sent again makes no empty one
            session_id = self.new_id()
        else:
            await self.own(session_id)
        if before is not None:
            await before(session_id)
        return await self._host.accept(
            Incoming(
                text=message.content,
                session_id=session_id,
                owner=self.user.id,
                channel=HUB,
                account=self.user.id,
                external_id=message.client_message_id,
                stream=message.stream,
                model=message.model,
                planning=message.planning,
                trace=message.trace or new_trace(),
                instructions=message.instructions,
            )
        )

    async def cancel(self, task_id: str) -> Run:
        """End a task; one that is over stays as it is. Raises NotFound, Forbidden."""
        await self.task(task_id)
        return await self._host.cancel(task_id)

    async def decide(self, approval_id: str, decision: Decision) -> ApprovalRecord:
        """Decide what the user may: the own, as operator all. Raises NotFound, DecisionRefused."""
        return await self._host.approvals.decide(approval_id, decision, self.user.id)

    async def join(self, session_id: str, last_seq: int, listener: Listener) -> Joined:
        """What was missed of a session after `last_seq`, and from then on every event, until `leave`.

        A session that does not exist becomes the user's. Raises InputError, Forbidden.
        """
        if self.user.operator:
            check_id("session_id", session_id)
            await self._store.sessions.ensure(session_id, self.user.id)
        else:
            await self.own(session_id)
        return await self._host.feed.join(session_id, max(last_seq, 0), listener)

    async def listen(self, session_id: str, listener: Listener) -> None:
        """Hear every event of a session from now on, until `leave`. Raises NotFound, Forbidden."""
        await self.session(session_id)
        await self._host.feed.listen(session_id, listener)

    def watch(self, listener: Listener) -> None:
        """Hear every event of every session, until `unwatch`. Raises Forbidden."""
        self.must_operate()
        self._host.feed.watch(listener)

    def unwatch(self, listener: Listener) -> None:
        """No more."""
        self._host.feed.unwatch(listener)

    def leave(self, session_id: str, listener: Listener) -> None:
        """Hear no more of it."""
        self._host.feed.leave(session_id, listener)

    def new_id(self) -> str:
        """For a session that nobody has named."""
        return self._host.services.clock.new_id()

    async def own(self, session_id: str) -> SessionSummary:
        """A session of the user's own, made if there is none. Raises InputError, Forbidden."""
        check_id("session_id", session_id)
        session = await self._store.sessions.ensure(session_id, self.user.id)
        if session.owner != self.user.id:
            raise Forbidden("this session is somebody else's")
        return session

    async def session(self, session_id: str) -> SessionSummary:
        """Raises NotFound, Forbidden."""
        session = await self._store.sessions.get(session_id)
        self._check(session.owner, "session")
        return session

    async def sessions(self, *, everything: bool = False) -> list[SessionSummary]:
        """The newest first; the user's own, or for an operator those of all."""
        return await self._store.sessions.list(self._whose(everything))

    async def records(self, session_id: str, after: int = 0) -> list[SessionRecord]:
        """The log of a session after a seq. Raises NotFound, Forbidden."""
        await self.session(session_id)
        return await self._store.sessions.records(session_id, after)

    async def events(self, session_id: str, after: int = 0, limit: int = 1000) -> list[LoggedEvent]:
        """The events of a session after a seq, as far as they are kept. Raises NotFound, Forbidden."""
        await self.session(session_id)
        return await self._store.events.after(session_id, after, limit)

    async def rename(self, session_id: str, title: str) -> SessionSummary:
        """Raises NotFound, Forbidden."""
        await self.session(session_id)
        await self._store.sessions.rename(session_id, title)
        return await self._store.sessions.get(session_id)

    async def choose_model(self, session_id: str, model: str | None) -> SessionSummary:
        """Have one model answer in a session, or let routing choose again. Raises NotFound (model too), Forbidden."""
        await self.session(session_id)
        if model is not None:
            self._host.services.gateway.find(model)
        await self._store.sessions.choose_model(session_id, model)
        return await self._store.sessions.get(session_id)

    async def fork(self, session_id: str, new_id: str | None = None, *, upto: int | None = None) -> SessionSummary:
        """A copy with the same owner, whole or up to a seq. Raises NotFound, Forbidden, InputError."""
        await self.session(session_id)
        check_id("session_id", new_id)
        copy = new_id or self._host.services.clock.new_id()
        await self._store.sessions.fork(session_id, copy, upto=upto)
        return await self._store.sessions.get(copy)

    async def delete(self, session_id: str) -> None:
        """Stop what runs in it, then forget it. Raises NotFound, Forbidden, Busy.

        Busy: a turn in it does not stop within a second. The session is still there: try again when that has ended.
        """
        await self.session(session_id)
        while unfinished := [run for run in await self._store.runs.unfinished() if run.session_id == session_id]:
            for run in unfinished:
                if not (await self._host.cancel(run.id)).over:
                    raise Busy(f"task {run.id!r} is being stopped; delete the session when it has ended")
        await self._store.sessions.delete(session_id)

    async def task(self, task_id: str) -> Run:
        """Raises NotFound, Forbidden."""
        run = await self._store.runs.get(task_id)
        self._check(run.owner, "task")
        return run

    async def tasks(
        self,
        *,
        session_id: str | None = None,
        status: RunStatus | None = None,
        limit: int = 100,
        everything: bool = False,
    ) -> list[Run]:
        """The newest first; the user's own, or for an operator those of all."""
        owner = self._whose(everything)
        return await self._store.runs.list(session_id=session_id, owner=owner, status=status, limit=limit)

    async def approval(self, approval_id: str) -> ApprovalRecord:
        """Raises NotFound, Forbidden."""
        record = await self._store.approvals.get(approval_id)
        self._check(await self._asker(record), "approval")
        return record

    async def approvals(
        self, *, session_id: str | None = None, open_only: bool = True, everything: bool = False
    ) -> list[ApprovalRecord]:
        """The oldest first; of the user's own tasks, or for an operator of all."""
        records = await self._store.approvals.list(open_only=open_only, session_id=session_id)
        whose = self._whose(everything)
        return [record for record in records if whose is None or await self._asker(record) == whose]

    def must_operate(self) -> None:
        """Raises Forbidden for who is no operator."""
        if not self.user.operator:
            raise Forbidden("only an operator may do this")

    async def _asker(self, record: ApprovalRecord) -> str | None:
        """The owner of the task that asks; None if the task is gone."""
        try:
            return (await self._store.runs.get(task_of(record.request))).owner
        except NotFound:
            return None

    def _whose(self, everything: bool) -> str | None:
        if everything:
            self.must_operate()
            return None
        return self.user.id

    def _check(self, owner: str | None, what: str) -> None:
        if owner != self.user.id and not self.user.operator:
            raise Forbidden(f"this {what} is somebody else's")


def check_id(what: str, given: str | None) -> None:
    """Raise InputError for an id that cannot be shown or kept: empty, long, or with signs that are invisible."""
    if given is None:
        return
    if not 1 <= len(given) <= MAX_ID_CHARACTERS:
        raise InputError(f"{what} has {len(given)} characters; it needs 1 to {MAX_ID_CHARACTERS}")
    if any(unicodedata.category(sign)[0] in "CZ" and sign != " " for sign in given):
        raise InputError(f"{what} has invisible characters in it")
