"""Questions to people, in the chat that the turn came from: asked once, answered by button or text, then marked."""

import logging
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from sophon.approvals import Decision
from sophon.clock import Clock
from sophon.errors import IllegalTransition, NotFound, SophonError
from sophon.stores.contracts import ApprovalRecord
from sophon.stores.note_contracts import Note
from sophon.stores.outbound_contracts import OutboundEntry
from sophon.stores.run_contracts import Run
from sophon_channels.contract import Channel, Outgoing, Person, Place, Pressed
from sophon_channels.rules.presses import buttons_of, press_of
from sophon_channels.rules.tokens import as_code, new_code
from sophon_hosting.approvals import DecisionRefused, task_of
from sophon_hosting.channels.chats import Chats, clock_time
from sophon_hosting.channels.delivery import MOVED
from sophon_hosting.channels.letters import Letters, part_id, parts
from sophon_hosting.host import Host

log = logging.getLogger("sophon")

ASKED, CODE = "asked", "code"
DECIDED = "decided:"
UNKNOWN = "this decision is not known here any more"
EXPIRY = "expiry"
SAID = {"approve": "Approved", "edit": "Approved, with changes,", "reject": "Rejected"}
MARKS = {"approve": "✅", "edit": "✅", "reject": "❌"}


class Questions:
    """The open questions of one channel. Whoever asked for the turn decides, or somebody in Approvers, here or anywhere
    else; the first decision counts.
    """

    def __init__(self, host: Host, channel: Channel, chats: Chats, letters: Letters) -> None:
        self._host, self._channel, self._chats, self._letters = host, channel, chats, letters
        self._store = host.services.store
        self._clock: Clock = host.services.clock

    async def ask(self, approval_id: str) -> None:
        """Put it to the chat of its turn, if that is of this channel; asking again asks nobody twice."""
        try:
            record = await self._store.approvals.get(approval_id)
            run = await self._store.runs.get(task_of(record.request))
        except NotFound:
            return
        chat = self._chat(run)
        if chat is None or record.decision is not None:
            return
        code = await self._code(approval_id, chat)
        text = (
            f"{_heading(record)}\n\n{record.request.preview}\n\n{self._until(record)}/approve {code} or /reject {code}"
        )
        outgoing = Outgoing(
            text, markdown=False, buttons=buttons_of(code), reply_to=str(run.origin.get("reply_to", "")) or None
        )
        sent = await self._letters.write(chat, f"ask:{approval_id}", outgoing, "question")
        await self._put(ASKED, approval_id, {"code": code, "chat": chat, "parts": len(sent)})
        await self._show_if_decided(approval_id)  # perhaps meanwhile, when there was nothing to mark yet

    async def ask_all(self) -> None:
        """What a process before this one may not have come to ask, or to tell."""
        for record in await self._store.approvals.list():
            await self.ask(record.request.id)
        for note in await self._store.notes.list(ASKED, self._channel.name, self._channel.account):
            if not note.value.get("told"):
                await self._show_if_decided(note.key)

    async def show_decided(self, approval_id: str) -> None:
        """Say in the chat who decided, in place of the question where the platform can do that."""
        asked = await self._get(ASKED, approval_id)
        if asked is None or asked.value.get("told"):
            return
        question = await self._question(asked)
        if question is not None and question.platform_id is None:
            await self._unasked(question)
        await self._letters.write(str(asked.value["chat"]), f"{DECIDED}{approval_id}", await self._mark(asked))
        await self._put(ASKED, approval_id, {**asked.value, "told": True})

    async def latest(self, entry: OutboundEntry) -> Mapping[str, Any] | None:
        """The payload of a decision that is about to be sent: its question, which is sent by now, has an id."""
        asked = None
        if entry.position == 0 and entry.id.startswith(DECIDED) and not entry.id.endswith(MOVED):
            asked = await self._get(ASKED, entry.id.removeprefix(DECIDED).rpartition(":")[0])
        if asked is None:
            return None
        made = parts(self._channel, entry.chat, "", await self._mark(asked))
        return made[0].payload if made else None

    async def press(self, press: Pressed) -> str:
        """Decide by a button; what the person is told."""
        found = press_of(press.data)
        if found is None:
            return UNKNOWN
        decision = Decision.approve() if found.verdict == "approve" else Decision.reject("")
        await self._arrived(found.code, press)
        return await self.decide(found.code, decision, press.person, press.place)

    async def decide(self, code: str, decision: Decision, person: Person, place: Place) -> str:
        """Decide by the code of a question of this chat; what the person is told."""
        note = await self._known(code, place)
        if note is None:
            return UNKNOWN
        approval_id = str(note.value["approval"])
        try:
            record = await self._host.approvals.decide(approval_id, decision, self._chats.identity(person))
        except DecisionRefused as refused:
            if refused.code == "already_decided":
                return "already " + _small(await self.outcome(await self._store.approvals.get(approval_id)))
            return str(refused)
        except SophonError as error:
            return str(error)
        return await self.outcome(record)

    async def pending(self, place: Place) -> list[tuple[str, ApprovalRecord]]:
        """The open questions of a chat, of its earlier conversations too, with their codes."""
        found: list[tuple[str, ApprovalRecord]] = []
        keys = await self._chats.keys(place)
        for record in await self._store.approvals.list():
            note = await self._get(ASKED, record.request.id)
            if note is not None and note.value["chat"] in keys:
                found.append((str(note.value["code"]), record))
        return found

    async def outcome(self, record: ApprovalRecord) -> str:
        """How it was decided, by whom and when."""
        decision = record.decision
        if decision is None:
            return "Not decided."
        if decision.decided_by == EXPIRY:
            return "⌛ Expired: nobody decided in time."
        who = await self._chats.name_of(decision.decided_by)
        said = f"{MARKS.get(decision.verdict, '')} {SAID.get(decision.verdict, decision.verdict)} by {who}"
        reason = f": {decision.reason}" if decision.reason else ""
        return f"{said} at {clock_time(record.decided_at)}{reason}"

    async def _show_if_decided(self, approval_id: str) -> None:
        try:
            record = await self._store.approvals.get(approval_id)
        except NotFound:
            return
        if record.decision is not None:
            await self.show_decided(approval_id)

    def _chat(self, run: Run) -> str | None:
        return str(run.origin["chat"]) if run.channel == self._channel.name and run.origin.get("chat") else None

    def _until(self, record: ApprovalRecord) -> str:
        until = record.request.expires_at
        return f"Until {clock_time(until)}: " if until else ""

    async def _code(self, approval_id: str, chat: str) -> str:
        """The code of a question, which it keeps."""
        await self._store.notes.add(self._note(ASKED, approval_id, {"code": new_code(), "chat": chat, "parts": 1}))
        asked = await self._get(ASKED, approval_id)
        code = str(asked.value["code"]) if asked else new_code()
        await self._put(CODE, code, {"approval": approval_id, "chat": chat})
        return code

    async def _known(self, code: str, place: Place) -> Note | None:
        """The question of this chat that has a code."""
        note = await self._get(CODE, as_code(code))
        if note is None or str(note.value["chat"]).partition("/")[0] not in await self._chats.ids(place.chat):
            return None
        return note

    async def _arrived(self, code: str, press: Pressed) -> None:
        """What has a button that was pressed has arrived, whatever became of its sending: it is not sent again."""
        note = await self._known(code, press.place)
        asked = await self._get(ASKED, str(note.value["approval"])) if note else None
        question = await self._question(asked) if asked else None
        if question is not None and question.status == "ambiguous" and press.prompt_id is not None:
            with suppress(IllegalTransition):
                await self._store.outbound.sent(question.id, press.prompt_id)

    async def _question(self, asked: Note) -> OutboundEntry | None:
        """The part of a question that has its buttons, where it was sent to at last."""
        last = part_id(f"ask:{asked.key}", int(asked.value.get("parts", 1)) - 1)
        for entry_id in (last + MOVED, last):
            with suppress(NotFound):
                return await self._store.outbound.get(entry_id)
        return None

    async def _mark(self, asked: Note) -> Outgoing:
        """Who decided, in place of the question."""
        record, question = await self._store.approvals.get(asked.key), await self._question(asked)
        text = f"{_heading(record)}\n{await self.outcome(record)}"
        return Outgoing(text, markdown=False, replaces=question.platform_id if question else None)

    async def _unasked(self, question: OutboundEntry) -> None:
        """A question that was decided before it was sent need not be asked; one that is on its way will be."""
        if question.status in ("pending", "refused", "ambiguous"):
            with suppress(SophonError):
                await self._store.outbound.dead(question.id, "decided before it was asked")

    async def _get(self, kind: str, key: str) -> Note | None:
        return await self._store.notes.get(self._channel.name, self._channel.account, kind, key)

    async def _put(self, kind: str, key: str, value: dict[str, object]) -> None:
        await self._store.notes.put(self._note(kind, key, value))

    def _note(self, kind: str, key: str, value: dict[str, object]) -> Note:
        return Note(self._channel.name, self._channel.account, kind, key, value)


def _heading(record: ApprovalRecord) -> str:
    request = record.request
    what = {"plan": "May this plan be carried out?", "question": "A question to you:"}
    return what.get(request.kind, f"May {request.tool} run? ({request.risk.label} risk)")


def _small(text: str) -> str:
    return (
        text.lstrip("✅❌⌛ ")
        .replace("Approved", "approved", 1)
        .replace("Rejected", "rejected", 1)
        .replace("Expired", "expired", 1)
    )
