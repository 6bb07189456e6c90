"""Approval prompts: sent to the chat that a turn came from, once; decided by button or command, then marked."""

import logging
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import suppress
from typing import Any, TypeAlias

from sophon.approvals import ApprovalRequest, Decision, turn_id_from_request
from sophon.builtin_tools.questions import MAX_CHOICE_CHARACTERS, choose_answer, list_choices
from sophon.clock import Clock
from sophon.errors import IllegalTransition, NotFound, SophonError
from sophon_channels.approval_buttons import (
    ApprovalPress,
    build_approval_buttons,
    build_choice_buttons,
    parse_callback_data,
)
from sophon_channels.contract import Button, ButtonPress, Channel, ChatLocation, OutboundMessage, Person
from sophon_channels.outbound_entry import OutboundEntry
from sophon_hosting.channels.approval_codes import ApprovalCodes, CodedApproval
from sophon_hosting.channels.approval_text import (
    MAX_NAME_CHARACTERS,
    MAX_REASON_CHARACTERS,
    fits_into_chat,
    format_answer_commands,
    format_edit,
    format_heading,
    format_more_commands,
    format_prompt,
    format_refusal,
    to_visible_line,
)
from sophon_hosting.channels.chat_state import ChatState, format_utc_time
from sophon_hosting.channels.direct_chat_recipients import recipient_of_run
from sophon_hosting.channels.outbound.entry_delivery import MIGRATED_SUFFIX
from sophon_hosting.channels.outbound.message_entries import OutboundWriter, build_entries, build_entry_id
from sophon_hosting.host import Host
from sophon_hosting.runs.approvals.approval_service import DecisionRefused
from sophon_hosting.store.approvals.approval_record import ApprovalRecord
from sophon_hosting.store.channel_state.channel_state_entry import ChannelStateEntry
from sophon_hosting.store.contract import host_store
from sophon_hosting.store.runs.contract import Run

log = logging.getLogger("sophon")

DECISION_PREFIX = "decided:"
"""Prefix of the name of the message that shows a decision."""
UNKNOWN_APPROVAL_MESSAGE = "this approval is not known here any more"
"""Answer to a code of no known prompt in this chat."""
MAY_NOT_DECIDE_MESSAGE = "you may not decide this, or it does not exist any more"
"""Answer to a person who is neither the task's owner nor an approver."""
EXPIRY_ACTOR = "expiry"
"""`decided_by` of an approval that expired."""
VERDICT_LABELS = {"approve": "Approved", "edit": "Approved, with changes,", "reject": "Rejected", "answer": "Answered"}
VERDICT_MARKS = {"approve": "✅", "edit": "✅", "reject": "❌", "answer": "✅"}

VERSION_PREFIX = "edited:"
"""Prefix of the name of the message that shows an edited version of a call."""
VERSION_TIMED_OUT_MESSAGE = "this version is not valid any more; press Edit again"
"""Answer to the approval of an edited call that was shown too long ago, or not completely."""
EDIT_WITHOUT_GRANT_MESSAGE = "a call with edited arguments is approved by itself: leave out the word behind the id"
"""Answer to the approval in advance of an edited call."""


PreviewCompleter: TypeAlias = Callable[[Run], Awaitable[OutboundMessage | None]]
"""Returns the message that makes a run's preview whole, None if nothing is to be done."""


class ApprovalPrompts:
    """Open approval prompts of one channel.

    The person who started the turn decides, or a person in Approvers, here or elsewhere; the first decision counts.
    """

    def __init__(
        self,
        host: Host,
        channel: Channel,
        chat_state: ChatState,
        writer: OutboundWriter,
        complete_preview: PreviewCompleter,
    ) -> None:
        self._host, self._channel, self._chat_state, self._writer = host, channel, chat_state, writer
        self._complete_preview = complete_preview
        self._store = host_store(host.services)
        self._clock: Clock = host.services.clock
        self.codes = ApprovalCodes(self._store.channel_state, channel, chat_state)

    async def send_prompt(self, approval_id: str) -> None:
        """Send the prompt to the chat of its turn, if that is on this channel. Idempotent."""
        try:
            record = await self._store.approvals.get(approval_id)
            run = await self._store.runs.get(turn_id_from_request(record.request))
        except NotFound:
            return
        chat = self._chat_of_run(run)
        if chat is None or record.decision is not None:
            return
        whole_preview = await self._complete_preview(run)
        if whole_preview is not None:
            name = f"preview:{run.id}:{approval_id}"
            await self._writer.write(chat, name, whole_preview, "preview", recipient=recipient_of_run(run), max_parts=1)
        code = await self.codes.create(approval_id, chat)
        # In a direct chat nobody is there who could approve a call for an operator; in a group an approver may be.
        asker_only = record.request.needs_operator and run.origin.get("kind") != "group"
        is_question = record.request.kind == "question"
        can_approve = fits_into_chat(record.request) and not asker_only and not is_question
        commands = f"/approve {code} or /reject {code}" if can_approve else f"/reject {code}"
        if is_question:
            commands = format_answer_commands(record.request, code)
        can_allow, can_edit = can_approve and bool(record.request.grant_offer), can_approve and record.request.editable
        commands += format_more_commands(record.request, code, can_allow=can_allow, can_edit=can_edit)
        outgoing = OutboundMessage(
            format_prompt(record.request, f"{self._expiry_text(record)}{commands}"),
            buttons=self._question_buttons(record.request, code)
            if is_question
            else build_approval_buttons(code, can_approve=can_approve, can_allow=can_allow, can_edit=can_edit),
            reply_to_message_id=str(run.origin.get("reply_to", "")) or None,
        )
        entries = await self._writer.write(
            chat, f"ask:{approval_id}", outgoing, "question", recipient=recipient_of_run(run)
        )
        await self.codes.store_prompt(approval_id, {"code": code, "chat": chat, "parts": len(entries)})
        if is_question:
            await self._chat_state.note_question(chat)
        await self._show_decision_if_any(approval_id)  # it may have been decided before the prompt was stored

    def _question_buttons(self, request: ApprovalRequest, code: str) -> tuple[Button, ...]:
        """Return a button per choice, if the platform can show them all, and Cancel."""
        labels = [to_visible_line(each, MAX_CHOICE_CHARACTERS) for each in list_choices(request.arguments)]
        buttons = build_choice_buttons(code, labels)
        if len({button.label for button in buttons}) == len(buttons):
            with suppress(ValueError):
                self._channel.render_payloads(OutboundMessage("?", buttons=buttons))
                return buttons
        return build_choice_buttons(code, ())

    async def send_missing(self) -> None:
        """Send the prompts and decisions that an earlier process may not have sent."""
        for record in await self._store.approvals.list():
            await self.send_prompt(record.request.id)
        for note in await self.codes.list_prompts():
            if not note.value.get("told"):
                await self._show_decision_if_any(note.key)

    async def show_decision(self, approval_id: str) -> None:
        """Show in the chat who decided; replaces the prompt if the platform can edit messages."""
        prompt = await self.codes.find_prompt(approval_id)
        if prompt is None or prompt.value.get("told"):
            return
        entry = await self._find_entry(prompt)
        if entry is not None and entry.platform_id is None:
            await self._give_up(entry)
        await self._writer.write(
            str(prompt.value["chat"]),
            f"{DECISION_PREFIX}{approval_id}",
            await self._decision_message(prompt),
            recipient=await self._recipient(approval_id),
        )
        await self.codes.store_prompt(approval_id, {**prompt.value, "told": True})

    async def refresh_payload(self, entry: OutboundEntry) -> Mapping[str, Any] | None:
        """Return the payload for a decision that is about to be sent, now that the id of its prompt is known."""
        prompt = None
        if entry.position == 0 and entry.id.startswith(DECISION_PREFIX) and not entry.id.endswith(MIGRATED_SUFFIX):
            prompt = await self.codes.find_prompt(entry.id.removeprefix(DECISION_PREFIX).rpartition(":")[0])
        if prompt is None:
            return None
        entries = build_entries(self._channel, entry.chat, "", await self._decision_message(prompt))
        return entries[0].payload if entries else None

    async def decide_by_press(self, press: ButtonPress) -> str:
        """Decide by button; return the text for the person."""
        parsed = parse_callback_data(press.data)
        if parsed is None:
            return UNKNOWN_APPROVAL_MESSAGE
        decision = _decision_of_press(parsed)
        await self._confirm_arrival(parsed.code, press)
        return await self.decide(parsed.code, decision, press.person, press.location)

    async def decide(self, code: str, decision: Decision, person: Person, location: ChatLocation) -> str:
        """Decide by the code of a prompt in this chat; return the text for the person."""
        found = await self.find(code, person, location)
        if found is None:
            return await self.explain_unknown(code, person, location)
        approval_id = found.approval_id
        checked = await self._check(found, decision)
        if isinstance(checked, str):
            return checked
        try:
            record = await self._host.approvals.decide(approval_id, checked, self._chat_state.user_id(person))
        except DecisionRefused as refused:
            if refused.code == "already_decided":
                return "already " + _lowercase_verdict(
                    await self.format_outcome(await self._store.approvals.get(approval_id))
                )
            return str(refused)
        except NotFound:  # in this chat everybody sees the question, so that it exists is no secret
            return MAY_NOT_DECIDE_MESSAGE
        except SophonError as error:
            return str(error)
        return await self.format_outcome(record)

    async def _check(self, found: CodedApproval, decision: Decision) -> Decision | str:
        """Return the decision that a code makes of this one, or why it cannot be made in the chat."""
        if decision.verdict == "answer":
            return await self._choose_answer(found.approval_id, decision)
        if decision.verdict != "approve":
            return decision
        if found.arguments is None:
            return decision if await self.was_shown_completely(found.approval_id) else format_refusal(found.approval_id)
        if self._host.services.clock.now() >= found.until or not await self._has_arrived(found):
            return VERSION_TIMED_OUT_MESSAGE
        return EDIT_WITHOUT_GRANT_MESSAGE if decision.grant is not None else Decision.edit(found.arguments)

    async def find(self, code: str, person: Person, location: ChatLocation) -> CodedApproval | None:
        """Return what a code of this chat stands for, None if there is none or it was not addressed to the person."""
        found = await self.codes.find(code, location)
        if found is None or not await self._is_for_person(found.approval_id, location, person):
            return None
        return found

    async def explain_unknown(self, code: str, person: Person, location: ChatLocation) -> str:
        """Return the answer to a code that does not count in this chat: an operator learns where it does."""
        if not self._may_see_elsewhere(person, location):
            return UNKNOWN_APPROVAL_MESSAGE
        approval_id = await self.codes.find_approval_id(code)
        record = await self._store.approvals.find(approval_id) if approval_id else None
        if record is None or record.decision is not None:
            return UNKNOWN_APPROVAL_MESSAGE
        return f"this waits in another chat: decide there, on the web page, or with `sophon approvals` ({approval_id})"

    async def count_elsewhere(self, location: ChatLocation, person: Person) -> int:
        """Return how many open approvals `list_pending` leaves out that the person may decide elsewhere."""
        if not self._may_see_elsewhere(person, location):
            return 0
        shown = {record.request.id for _, record in await self.list_pending(location, person)}
        return sum(record.request.id not in shown for record in await self._store.approvals.list())

    def _may_see_elsewhere(self, person: Person, location: ChatLocation) -> bool:
        """Return whether a person may learn of what others are asked: an operator, where nobody else reads it."""
        is_operator = self._host.services.security.operator_policy.is_operator(self._chat_state.user_id(person))
        return is_operator and location.kind == "direct"

    async def _has_arrived(self, version: CodedApproval) -> bool:
        """Return whether no message was given up that shows the edited version."""
        for position in range(version.parts):
            entry = None
            with suppress(NotFound):
                entry = await self._store.outbox.get(build_entry_id(f"{VERSION_PREFIX}{version.code}", position))
            if entry is not None and entry.status == "dead":
                return False
        return True

    async def _choose_answer(self, approval_id: str, decision: Decision) -> Decision:
        """Return the answer with the text of the choice whose number the person wrote."""
        record = await self._store.approvals.find(approval_id)
        if record is None:
            return decision  # the decision reports it
        return Decision.answer(choose_answer(record.request.arguments, decision.reason))

    async def was_shown_completely(self, approval_id: str) -> bool:
        """Return whether the chat shows the whole approval: it fits, and no message of the prompt was given up."""
        try:
            record = await self._store.approvals.get(approval_id)
        except NotFound:
            return True  # the decision reports it
        prompt = await self.codes.find_prompt(approval_id)
        if record.decision is not None or prompt is None:
            return True
        parts = [await self._find_entry(prompt, part) for part in range(int(prompt.value.get("parts", 1)))]
        return fits_into_chat(record.request) and not any(part is not None and part.status == "dead" for part in parts)

    async def list_pending(self, location: ChatLocation, person: Person) -> list[tuple[str, ApprovalRecord]]:
        """Return the open prompts of a chat with their codes, also those of its earlier sessions.

        In a direct chat only those of the person: the platform may have given the chat to somebody else.
        """
        pending: list[tuple[str, ApprovalRecord]] = []
        keys = await self._chat_state.chat_keys(location)
        for record in await self._store.approvals.list():
            note = await self.codes.find_prompt(record.request.id)
            if note is not None and note.value["chat"] in keys and await self._may_list(record, location, person):
                pending.append((str(note.value["code"]), record))
        return pending

    async def find_prompt_by_message(self, message_id: str, approval_ids: Collection[str]) -> str:
        """Return which of the approvals a message of the platform asks about; "" if none of them."""
        for approval_id in approval_ids:
            prompt = await self.codes.find_prompt(approval_id)
            parts = int(prompt.value.get("parts", 1)) if prompt is not None else 0
            for part in range(parts):
                entry = await self._find_entry(prompt, part) if prompt is not None else None
                if entry is not None and entry.platform_id == message_id:
                    return approval_id
        return ""

    async def _may_list(self, record: ApprovalRecord, location: ChatLocation, person: Person) -> bool:
        if location.kind != "direct":
            return True
        run = await self._store.runs.find(turn_id_from_request(record.request))
        return run is not None and run.owner == self._chat_state.user_id(person)

    async def format_outcome(self, record: ApprovalRecord) -> str:
        """Return the decision as text: what, by whom and when."""
        decision = record.decision
        if decision is None:
            return "Not decided."
        if decision.decided_by == EXPIRY_ACTOR:
            return "⌛ Expired: nobody decided in time."
        name = to_visible_line(await self._chat_state.display_name(decision.decided_by), MAX_NAME_CHARACTERS)
        mark, label = VERDICT_MARKS.get(decision.verdict, ""), VERDICT_LABELS.get(decision.verdict, decision.verdict)
        text = f"{mark} {label} by {name}" + (" for this and like calls of the conversation" if decision.grant else "")
        reason = f": {to_visible_line(decision.reason, MAX_REASON_CHARACTERS)}" if decision.reason else ""
        return f"{text} at {format_utc_time(record.decided_at)}{reason}"

    async def _is_for_person(self, approval_id: str, location: ChatLocation, person: Person) -> bool:
        """Return whether a prompt was addressed to the person, or an operator asks: the chat may have been another
        person's before.
        """
        user_id = self._chat_state.user_id(person)
        if location.kind != "direct" or self._host.services.security.operator_policy.is_operator(user_id):
            return True
        return await self._recipient(approval_id) in ("", user_id)

    async def _recipient(self, approval_id: str) -> str:
        """Return the recipient of a prompt and its decision, as `recipient_of_run`."""
        try:
            record = await self._store.approvals.get(approval_id)
        except NotFound:
            return ""
        run = await self._store.runs.find(turn_id_from_request(record.request))
        return recipient_of_run(run) if run is not None else ""

    async def _show_decision_if_any(self, approval_id: str) -> None:
        try:
            record = await self._store.approvals.get(approval_id)
        except NotFound:
            return
        if record.decision is not None:
            await self.show_decision(approval_id)

    def _chat_of_run(self, run: Run) -> str | None:
        return str(run.origin["chat"]) if run.channel == self._channel.name and run.origin.get("chat") else None

    def _expiry_text(self, record: ApprovalRecord) -> str:
        expires_at = record.request.expires_at
        return f"Until {format_utc_time(expires_at)}: " if expires_at else ""

    async def _confirm_arrival(self, code: str, press: ButtonPress) -> None:
        """Mark an ambiguous prompt as sent: a button press proves that it arrived, so it is not repeated."""
        found = await self.codes.find(code, press.location)
        prompt = await self.codes.find_prompt(found.approval_id) if found else None
        entry = await self._find_entry(prompt) if prompt else None
        if entry is not None and entry.status == "ambiguous" and press.prompt_message_id is not None:
            with suppress(IllegalTransition):
                await self._store.outbox.mark_sent(entry.id, press.prompt_message_id)

    async def _find_entry(self, prompt: ChannelStateEntry, part: int | None = None) -> OutboundEntry | None:
        """Return the entry of a part of the prompt, by default that with the buttons; after a chat migration the
        repeated one.
        """
        name = build_entry_id(f"ask:{prompt.key}", int(prompt.value.get("parts", 1)) - 1 if part is None else part)
        for entry_id in (name + MIGRATED_SUFFIX, name):
            with suppress(NotFound):
                return await self._store.outbox.get(entry_id)
        return None

    async def _decision_message(self, prompt: ChannelStateEntry) -> OutboundMessage:
        """Return the message that shows the decision and replaces the prompt."""
        record, entry = await self._store.approvals.get(prompt.key), await self._find_entry(prompt)
        text = f"{format_heading(record.request)}\n{await self.format_outcome(record)}"
        if record.decision is not None and record.decision.verdict == "edit":
            text += f"\n{format_edit(record.decision.arguments)}"
        return OutboundMessage(text, is_markdown=False, replaces_message_id=entry.platform_id if entry else None)

    async def _give_up(self, entry: OutboundEntry) -> None:
        """Give up a prompt that was decided before it was sent; one in flight is sent."""
        if entry.status in ("pending", "refused", "ambiguous"):
            with suppress(SophonError):
                await self._store.outbox.withdraw(entry.id, "decided before the prompt was sent")


def _decision_of_press(press: ApprovalPress) -> Decision:
    if press.verdict == "answer":
        return Decision.answer(str(press.choice))  # a number stands for its choice, as in `/answer`
    if press.verdict == "allow":
        return Decision.approve(grant="session")
    return Decision.approve() if press.verdict == "approve" else Decision.reject("")


def _lowercase_verdict(text: str) -> str:
    return (
        text.lstrip("✅❌⌛ ")
        .replace("Approved", "approved", 1)
        .replace("Rejected", "rejected", 1)
        .replace("Answered", "answered", 1)
        .replace("Expired", "expired", 1)
    )
