"""Approval prompts: sent to the chat that a turn came from, once; decided by button or command, then marked."""

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
"""Kinds of the stored notes: a prompt by approval id, an approval id by code."""
DECIDED = "decided:"
"""Prefix of the name of the message that shows a decision."""
UNKNOWN = "this approval is not known here any more"
"""Answer to a code of no known prompt in this chat."""
EXPIRY = "expiry"
"""`decided_by` of an approval that expired."""
SAID = {"approve": "Approved", "edit": "Approved, with changes,", "reject": "Rejected"}
MARKS = {"approve": "✅", "edit": "✅", "reject": "❌"}


class Questions:
    """Open approval prompts of one channel.

    The person who started the turn decides, or a person in Approvers, here or elsewhere; the first decision counts.
    """

    def __init__(self, host: Host, channel: Channel, chats: Chats, letters: Letters) -> None:
        self._host, self._channel, self._chat_state, self._writer = host, channel, chats, letters
        self._store = host.services.store
        self._clock: Clock = host.services.clock

    async def ask(self, approval_id: str) -> None:
        """Send the prompt to the chat of its turn, if that is on this channel. Idempotent."""
        try:
            record = await self._store.approvals.get(approval_id)
            run = await self._store.runs.get(task_of(record.request))
        except NotFound:
            return
        chat = self._chat_of_run(run)
        if chat is None or record.decision is not None:
            return
        code = await self._store_code(approval_id, chat)
        commands = f"{self._expiry_text(record)}/approve {code} or /reject {code}"
        text = f"{_format_heading(record)}\n\n{record.request.preview}\n\n{commands}"
        outgoing = Outgoing(
            text, markdown=False, buttons=buttons_of(code), reply_to=str(run.origin.get("reply_to", "")) or None
        )
        entries = await self._writer.write(chat, f"ask:{approval_id}", outgoing, "question")
        await self._put(ASKED, approval_id, {"code": code, "chat": chat, "parts": len(entries)})
        await self._show_decision_if_any(approval_id)  # it may have been decided before the prompt was stored

    async def ask_all(self) -> None:
        """Send the prompts and decisions that an earlier process may not have sent."""
        for record in await self._store.approvals.list():
            await self.ask(record.request.id)
        for note in await self._store.notes.list(ASKED, self._channel.name, self._channel.account):
            if not note.value.get("told"):
                await self._show_decision_if_any(note.key)

    async def show_decided(self, approval_id: str) -> None:
        """Show in the chat who decided; replaces the prompt if the platform can edit messages."""
        prompt = await self._get(ASKED, approval_id)
        if prompt is None or prompt.value.get("told"):
            return
        entry = await self._find_entry(prompt)
        if entry is not None and entry.platform_id is None:
            await self._give_up(entry)
        await self._writer.write(
            str(prompt.value["chat"]), f"{DECIDED}{approval_id}", await self._decision_message(prompt)
        )
        await self._put(ASKED, approval_id, {**prompt.value, "told": True})

    async def latest(self, entry: OutboundEntry) -> Mapping[str, Any] | None:
        """Return the payload for a decision that is about to be sent, now that the id of its prompt is known."""
        prompt = None
        if entry.position == 0 and entry.id.startswith(DECIDED) and not entry.id.endswith(MOVED):
            prompt = await self._get(ASKED, entry.id.removeprefix(DECIDED).rpartition(":")[0])
        if prompt is None:
            return None
        entries = parts(self._channel, entry.chat, "", await self._decision_message(prompt))
        return entries[0].payload if entries else None

    async def press(self, press: Pressed) -> str:
        """Decide by button; return the text for the person."""
        parsed = press_of(press.data)
        if parsed is None:
            return UNKNOWN
        decision = Decision.approve() if parsed.verdict == "approve" else Decision.reject("")
        await self._confirm_arrival(parsed.code, press)
        return await self.decide(parsed.code, decision, press.person, press.place)

    async def decide(self, code: str, decision: Decision, person: Person, place: Place) -> str:
        """Decide by the code of a prompt in this chat; return the text for the person."""
        note = await self._find_by_code(code, place)
        if note is None:
            return UNKNOWN
        approval_id = str(note.value["approval"])
        try:
            record = await self._host.approvals.decide(approval_id, decision, self._chat_state.identity(person))
        except DecisionRefused as refused:
            if refused.code == "already_decided":
                return "already " + _lowercase_verdict(await self.outcome(await self._store.approvals.get(approval_id)))
            return str(refused)
        except SophonError as error:
            return str(error)
        return await self.outcome(record)

    async def pending(self, place: Place) -> list[tuple[str, ApprovalRecord]]:
        """Return the open prompts of a chat with their codes, also those of its earlier sessions."""
        pending: list[tuple[str, ApprovalRecord]] = []
        keys = await self._chat_state.keys(place)
        for record in await self._store.approvals.list():
            note = await self._get(ASKED, record.request.id)
            if note is not None and note.value["chat"] in keys:
                pending.append((str(note.value["code"]), record))
        return pending

    async def outcome(self, record: ApprovalRecord) -> str:
        """Return the decision as text: what, by whom and when."""
        decision = record.decision
        if decision is None:
            return "Not decided."
        if decision.decided_by == EXPIRY:
            return "⌛ Expired: nobody decided in time."
        name = await self._chat_state.name_of(decision.decided_by)
        mark, label = MARKS.get(decision.verdict, ""), SAID.get(decision.verdict, decision.verdict)
        text = f"{mark} {label} by {name}"
        reason = f": {decision.reason}" if decision.reason else ""
        return f"{text} at {clock_time(record.decided_at)}{reason}"

    async def _show_decision_if_any(self, approval_id: str) -> None:
        try:
            record = await self._store.approvals.get(approval_id)
        except NotFound:
            return
        if record.decision is not None:
            await self.show_decided(approval_id)

    def _chat_of_run(self, run: Run) -> str | None:
        return str(run.origin["chat"]) if run.channel == self._channel.name and run.origin.get("chat") else None

    def _expiry_text(self, record: ApprovalRecord) -> str:
        expires_at = record.request.expires_at
        return f"Until {clock_time(expires_at)}: " if expires_at else ""

    async def _store_code(self, approval_id: str, chat: str) -> str:
        """Return the code of a prompt, and store it."""
        await self._store.notes.add(self._note(ASKED, approval_id, {"code": new_code(), "chat": chat, "parts": 1}))
        prompt = await self._get(ASKED, approval_id)
        code = str(prompt.value["code"]) if prompt else new_code()
        await self._put(CODE, code, {"approval": approval_id, "chat": chat})
        return code

    async def _find_by_code(self, code: str, place: Place) -> Note | None:
        """Return the note of the code, if its prompt is in this chat."""
        note = await self._get(CODE, as_code(code))
        if note is None or str(note.value["chat"]).partition("/")[0] not in await self._chat_state.ids(place.chat):
            return None
        return note

    async def _confirm_arrival(self, code: str, press: Pressed) -> None:
        """Mark an ambiguous prompt as sent: a button press proves that it arrived, so it is not repeated."""
        note = await self._find_by_code(code, press.place)
        prompt = await self._get(ASKED, str(note.value["approval"])) if note else None
        entry = await self._find_entry(prompt) if prompt else None
        if entry is not None and entry.status == "ambiguous" and press.prompt_id is not None:
            with suppress(IllegalTransition):
                await self._store.outbound.sent(entry.id, press.prompt_id)

    async def _find_entry(self, prompt: Note) -> OutboundEntry | None:
        """Return the entry of the prompt that has the buttons, after a chat migration the repeated one."""
        last = part_id(f"ask:{prompt.key}", int(prompt.value.get("parts", 1)) - 1)
        for entry_id in (last + MOVED, last):
            with suppress(NotFound):
                return await self._store.outbound.get(entry_id)
        return None

    async def _decision_message(self, prompt: Note) -> Outgoing:
        """Return the message that shows the decision and replaces the prompt."""
        record, entry = await self._store.approvals.get(prompt.key), await self._find_entry(prompt)
        text = f"{_format_heading(record)}\n{await self.outcome(record)}"
        return Outgoing(text, markdown=False, replaces=entry.platform_id if entry else None)

    async def _give_up(self, entry: OutboundEntry) -> None:
        """Give up a prompt that was decided before it was sent; one in flight is sent."""
        if entry.status in ("pending", "refused", "ambiguous"):
            with suppress(SophonError):
                await self._store.outbound.dead(entry.id, "decided before the prompt was sent")

    async def _get(self, kind: str, key: str) -> Note | None:
        return await self._store.notes.get(self._channel.name, self._channel.account, kind, key)

    async def _put(self, kind: str, key: str, value: dict[str, object]) -> None:
        await self._store.notes.put(self._note(kind, key, value))

    def _note(self, kind: str, key: str, value: dict[str, object]) -> Note:
        return Note(self._channel.name, self._channel.account, kind, key, value)


def _format_heading(record: ApprovalRecord) -> str:
    request = record.request
    headings = {"plan": "May this plan be carried out?", "question": "A question to you:"}
    return headings.get(request.kind, f"May {request.tool} run? ({request.risk.label} risk)")


def _lowercase_verdict(text: str) -> str:
    return (
        text.lstrip("✅❌⌛ ")
        .replace("Approved", "approved", 1)
        .replace("Rejected", "rejected", 1)
        .replace("Expired", "expired", 1)
    )
