"""Dialogues in which a person edits the arguments of a call in a chat: which one, its new value, then what would run.

The state is a note in the store, so that a restart changes nothing. A step names the message that made it, so that a
message which the platform delivers again makes none. What is approved at the end has a code of its own: a button runs
what its message shows, whatever was edited afterwards.
"""

from collections.abc import Mapping
from dataclasses import asdict, replace
from datetime import datetime, timedelta
from typing import Any

from sophon._python.lazy_dataclass import dataclass
from sophon.approvals import Decision, format_argument_lines, turn_id_from_request
from sophon.errors import NotFound
from sophon_channels.approval_buttons import ApprovalPress, build_field_buttons, build_version_buttons
from sophon_channels.contract import Button, Channel, ChatLocation, InboundMessage, OutboundMessage, Person
from sophon_channels.short_codes import generate_code
from sophon_hosting.channels.approval_codes import CodedApproval
from sophon_hosting.channels.approval_prompts import (
    MAY_NOT_DECIDE_MESSAGE,
    UNKNOWN_APPROVAL_MESSAGE,
    VERSION_PREFIX,
    VERSION_TIMED_OUT_MESSAGE,
    ApprovalPrompts,
)
from sophon_hosting.channels.approval_text import format_refusal, format_version, to_visible_line
from sophon_hosting.channels.chat_state import DIALOGUE_KIND, ChatState, format_utc_time
from sophon_hosting.channels.direct_chat_recipients import recipient_in_chat
from sophon_hosting.channels.edited_arguments import (
    ChosenField,
    EditInput,
    NewArguments,
    UnreadableEdit,
    list_fields,
    parse_all_arguments,
    parse_edit,
    parse_value,
)
from sophon_hosting.channels.outbound.message_entries import OutboundWriter
from sophon_hosting.host import Host
from sophon_hosting.runs.approvals.approval_service import DecisionRefused, check_decider
from sophon_hosting.store.approvals.approval_record import ApprovalRecord
from sophon_hosting.store.channel_state.channel_state_entry import ChannelStateEntry
from sophon_hosting.store.contract import host_store
from sophon_middlewares.tool_calls.call_checks import find_argument_error

EDIT_TIMEOUT = timedelta(minutes=10)
"""How long a dialogue waits for the next step."""
MAX_SHOWN_VALUE = 200
"""Characters of a present value in a question; head and tail of a longer one."""
WRITE_NOTE = "write the new value"
"""Beginning of the note at a button after which a question is in the chat."""
NOTHING_TO_CANCEL = "No editing is going on."
"""Answer to /cancel without a dialogue."""
CANCELLED_MESSAGE = (
    "The editing of {tool} is cancelled; the call still waits: /approve {code}, /edit {code} or /reject {code}"
)
TIMED_OUT_MESSAGE = "⌛ The editing of {tool} has ended, as nothing came in time; the call still waits: /edit {code}"


@dataclass(frozen=True, slots=True)
class EditDialogue:
    """State of one dialogue. `field` is the argument whose value is awaited, "" if none was chosen; `version` the code
    of the edited call that was shown, "" before; `last` the id of the message that made the last step.
    """

    approval_id: str
    code: str
    tool: str
    chat: str
    recipient: str
    arguments: Mapping[str, Any]
    until: datetime
    field: str = ""
    version: str = ""
    last: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON."""
        return {**asdict(self), "until": self.until.isoformat()}


def dialogue_from_json(data: Mapping[str, Any]) -> EditDialogue:
    """Return the dialogue from what `to_json` returned."""
    values: dict[str, Any] = {**data, "until": datetime.fromisoformat(data["until"])}
    return EditDialogue(**values)


def dialogue_key(location: ChatLocation, person: Person) -> str:
    """Return the key of a person's dialogue in a chat."""
    return f"edit {location.key} {person.id}"


class EditDialogues:
    """Dialogues of one channel, at most one per person and chat."""

    def __init__(
        self, host: Host, channel: Channel, chat_state: ChatState, writer: OutboundWriter, prompts: ApprovalPrompts
    ) -> None:
        self._host, self._channel, self._chat_state = host, channel, chat_state
        self._writer, self._prompts = writer, prompts
        self._store, self._clock = host_store(host.services), host.services.clock

    async def begin(self, code: str, person: Person, location: ChatLocation, event_id: str, text: str = "") -> str:
        """Begin, or with the code of an edited version go on; `text` holds all arguments as JSON, if it is not empty.

        Return why not, "" if the question was sent.
        """
        found = await self._prompts.find(code, person, location)
        if found is None:
            return await self._prompts.explain_unknown(code, person, location)
        record = await self._store.approvals.find(found.approval_id)
        problem = await self._find_problem(record, found, person)
        if record is None or problem:
            return problem
        earlier = await self._load(location, person)
        if earlier is not None and earlier.last == event_id:  # delivered again
            await self._ask(earlier, record, event_id)
            return ""
        if earlier is not None and earlier.version:
            await self._prompts.codes.drop_version(earlier.version)
        arguments = record.request.arguments if found.arguments is None else found.arguments
        fields = list_fields(arguments, self._schema(record.request.tool))
        if not fields:
            return f"{record.request.tool} has no arguments"
        dialogue = EditDialogue(
            record.request.id,
            await self._prompts.codes.find_code(record.request.id) or found.code,
            record.request.tool,
            location.key,
            recipient_in_chat(self._channel.name, location, person),
            arguments,
            self._deadline(record),
            field=fields[0] if len(fields) == 1 else "",
            last=event_id,
        )
        if text:
            parsed = parse_all_arguments(text)
            if isinstance(parsed, UnreadableEdit):
                return parsed.reason
            await self._show_version(dialogue, record, parsed, location, person)
        else:
            await self._save(location, person, dialogue)
            await self._ask(dialogue, record, event_id)
        return ""

    async def press(self, pressed: ApprovalPress, person: Person, location: ChatLocation, event_id: str) -> str:
        """Handle a button of a dialogue; return the note at the button."""
        if pressed.verdict == "cancel":
            return await self.cancel(person, location, pressed.code)
        if pressed.verdict == "field":
            return await self._choose(pressed, person, location, event_id)
        return await self.begin(pressed.code, person, location, event_id) or f"{WRITE_NOTE} in the chat"

    async def cancel(self, person: Person, location: ChatLocation, code: str = "") -> str:
        """End the person's dialogue in the chat, with `code` only if it is that of it; return the answer."""
        dialogue = await self._load(location, person)
        if dialogue is None or (code and code not in (dialogue.code, dialogue.version)):
            return NOTHING_TO_CANCEL
        await self._end(dialogue_key(location, person), dialogue)
        return CANCELLED_MESSAGE.format(tool=dialogue.tool, code=dialogue.code)

    async def take(self, message: InboundMessage) -> bool:
        """Take a message that is the next step of its sender's dialogue; return whether it was one.

        One that comes too late is taken too, and answered: it was written as a value.
        """
        location, person = message.location, message.person
        dialogue = await self._load(location, person)
        if dialogue is None:
            return False
        event_id = message.external_id
        record = await self._store.approvals.find(dialogue.approval_id)
        if dialogue.last == event_id and record is not None:
            await self._ask(dialogue, record, event_id)
            return True
        if dialogue.version:  # what comes now is no value: a text never approves
            return False
        if record is None or record.decision is not None:
            await self._end(dialogue_key(location, person), dialogue)
            if record is None or record.decision is None:
                return False
            if record.decision.decided_by == self._chat_state.user_id(person):
                return False
            await self._reply(message, await self._prompts.format_outcome(record))
            return True
        if self._clock.now() >= dialogue.until:
            await self._end(dialogue_key(location, person), dialogue)
            await self._reply(message, TIMED_OUT_MESSAGE.format(tool=dialogue.tool, code=dialogue.code))
            return True
        await self._step(dialogue, record, message)
        return True

    async def expire_due(self) -> None:
        """End the dialogues that wait too long, and tell their chats."""
        now = self._clock.now()
        for note in await self._store.channel_state.list(DIALOGUE_KIND, self._channel.name, self._channel.account):
            if not note.key.startswith("edit "):
                continue
            dialogue = dialogue_from_json(note.value)
            if now < dialogue.until:
                continue
            record = await self._store.approvals.find(dialogue.approval_id)
            if record is not None and record.decision is None:
                text = TIMED_OUT_MESSAGE.format(tool=dialogue.tool, code=dialogue.code)
                name = f"editing-ended:{dialogue.approval_id}:{dialogue.until.isoformat()}"
                await self._writer.write_notice(dialogue.chat, name, text, recipient=dialogue.recipient)
            await self._end(note.key, dialogue)

    async def _step(self, dialogue: EditDialogue, record: ApprovalRecord, message: InboundMessage) -> None:
        schema = self._schema(dialogue.tool)
        parsed: EditInput
        if dialogue.field:
            parsed = parse_value(dialogue.field, message.text, dialogue.arguments, schema)
        else:
            parsed = parse_edit(message.text, dialogue.arguments, schema)
        moved = replace(dialogue, last=message.external_id, until=self._deadline(record))
        if isinstance(parsed, UnreadableEdit):
            await self._reply(message, f"⚠️ {to_visible_line(parsed.reason, 300)} /cancel ends it.")
        elif isinstance(parsed, ChosenField):
            moved = replace(moved, field=parsed.name)
            await self._save(message.location, message.person, moved)
            await self._ask(moved, record, message.external_id)
        else:
            await self._show_version(moved, record, parsed, message.location, message.person)

    async def _choose(self, pressed: ApprovalPress, person: Person, location: ChatLocation, event_id: str) -> str:
        dialogue = await self._load(location, person)
        if dialogue is None or dialogue.code != pressed.code or dialogue.version:
            return VERSION_TIMED_OUT_MESSAGE
        record = await self._store.approvals.find(dialogue.approval_id)
        fields = list_fields(dialogue.arguments, self._schema(dialogue.tool))
        if record is None or record.decision is not None or pressed.choice > len(fields):
            return UNKNOWN_APPROVAL_MESSAGE
        field, until = fields[pressed.choice - 1], self._deadline(record)
        moved = replace(dialogue, field=field, last=event_id, until=until)
        await self._save(location, person, moved)
        await self._ask(moved, record, event_id)
        return f"{WRITE_NOTE} of {to_visible_line(field, 60)}"

    async def _show_version(
        self, dialogue: EditDialogue, record: ApprovalRecord, new: NewArguments, location: ChatLocation, person: Person
    ) -> None:
        """Show what would run, to be approved by its own code; arguments that the tool refuses are said to be so."""
        problem = self._find_argument_problem(dialogue.tool, new.arguments)
        moved = replace(dialogue, arguments=new.arguments, version=generate_code(), field="")
        outgoing = self._build_version(moved, record)
        if problem or outgoing is None:
            problem = problem or "That is too long for a chat; edit the call on the web page."
            await self._save(location, person, dialogue)
            await self._write(dialogue, OutboundMessage(f"⚠️ {problem} /cancel ends it.", is_markdown=False))
            return
        parts = len(self._channel.render_payloads(outgoing))
        await self._prompts.codes.store_version(
            dialogue.approval_id, moved.version, dialogue.chat, new.arguments, dialogue.until, parts
        )
        await self._save(location, person, moved)
        await self._send_version(moved, outgoing)

    def _build_version(self, dialogue: EditDialogue, record: ApprovalRecord) -> OutboundMessage | None:
        """Return the message that shows the edited call; None if it is too long for a chat."""
        code = dialogue.version
        commands = f"Until {format_utc_time(dialogue.until)}: /approve {code}, /edit {code} or /cancel"
        text = format_version(record.request, dialogue.arguments, commands)
        return None if text is None else OutboundMessage(text, buttons=build_version_buttons(code))

    async def _send_version(self, dialogue: EditDialogue, outgoing: OutboundMessage) -> None:
        name = f"{VERSION_PREFIX}{dialogue.version}"
        await self._writer.write(dialogue.chat, name, outgoing, "question", recipient=dialogue.recipient)

    async def _ask(self, dialogue: EditDialogue, record: ApprovalRecord, event_id: str) -> None:
        """Send the question of the dialogue's state; the same for the same event is sent once."""
        if dialogue.version:
            outgoing = self._build_version(dialogue, record)
            if outgoing is not None:
                await self._send_version(dialogue, outgoing)
            return
        if dialogue.field:
            await self._write(dialogue, OutboundMessage(self._format_field_question(dialogue), is_markdown=False))
            return
        fields = list_fields(dialogue.arguments, self._schema(dialogue.tool))
        await self._write(
            dialogue,
            OutboundMessage(
                self._format_choice(dialogue, fields), is_markdown=False, buttons=self._field_buttons(dialogue, fields)
            ),
        )

    def _field_buttons(self, dialogue: EditDialogue, fields: list[str]) -> tuple[Button, ...]:
        """Return a button per argument, if the platform can show them all, and Cancel."""
        buttons = build_field_buttons(dialogue.code, [to_visible_line(each, 20) for each in fields])
        try:
            self._channel.render_payloads(OutboundMessage("?", buttons=buttons))
        except ValueError:
            return build_field_buttons(dialogue.code, ())
        return buttons

    def _format_field_question(self, dialogue: EditDialogue) -> str:
        name = dialogue.field
        now = "it is not given."
        if name in dialogue.arguments:
            [line] = format_argument_lines({name: dialogue.arguments[name]}, limit=MAX_SHOWN_VALUE)
            now = f"now:\n{line}"
        how = "" if dialogue.recipient else " Reply to this message."
        return f"Write the new value of {to_visible_line(name, 60)} of {dialogue.tool}; {now}{how}\n/cancel ends it."

    def _format_choice(self, dialogue: EditDialogue, fields: list[str]) -> str:
        lines = [f"Which argument of {dialogue.tool} is to change?"]
        for number, name in enumerate(fields, start=1):
            shown = {name: dialogue.arguments[name]} if name in dialogue.arguments else {name: "(not given)"}
            lines += [f"{number}.{line[1:]}" for line in format_argument_lines(shown, limit=MAX_SHOWN_VALUE)]
        how = "" if dialogue.recipient else "Reply to this message: "
        return "\n".join([*lines, f"{how}a number, or NAME: VALUE, or all arguments as JSON. /cancel ends it."])

    async def _find_problem(self, record: ApprovalRecord | None, found: CodedApproval, person: Person) -> str:
        """Return why the person may not edit the call now."""
        if record is None:
            return UNKNOWN_APPROVAL_MESSAGE
        if record.decision is not None:
            return f"already decided: {await self._prompts.format_outcome(record)}"
        if record.request.kind != "tool" or not record.request.editable:
            return f"the arguments of {record.request.tool} cannot be edited"
        run = await self._store.runs.find(turn_id_from_request(record.request))
        decision = Decision.edit({}, decided_by=self._chat_state.user_id(person))
        try:
            check_decider(
                self._host.services.security.operator_policy, record, decision, asker=run.owner if run else ""
            )
        except NotFound:
            return MAY_NOT_DECIDE_MESSAGE
        except DecisionRefused as refused:
            return str(refused)
        if not await self._prompts.was_shown_completely(record.request.id):
            return format_refusal(record.request.id)
        return VERSION_TIMED_OUT_MESSAGE if self._clock.now() >= found.until else ""

    def _deadline(self, record: ApprovalRecord) -> datetime:
        """Return until when the next step may come: not longer than the call itself waits."""
        until, expires_at = self._clock.now() + EDIT_TIMEOUT, record.request.expires_at
        return min(until, expires_at) if expires_at is not None and expires_at > self._clock.now() else until

    def _find_argument_problem(self, tool_name: str, arguments: Mapping[str, Any]) -> str:
        tool = self._host.services.toolbox.registry.get(tool_name)
        mismatch = find_argument_error(tool, arguments) if tool is not None else None
        return to_visible_line(f"Invalid arguments: {'; '.join(mismatch.problems)}", 400) if mismatch else ""

    def _schema(self, tool_name: str) -> Mapping[str, Any]:
        tool = self._host.services.toolbox.registry.get(tool_name)
        return tool.schema.json_schema if tool is not None else {}

    async def _load(self, location: ChatLocation, person: Person) -> EditDialogue | None:
        name, account = self._channel.name, self._channel.account
        note = await self._store.channel_state.get(name, account, DIALOGUE_KIND, dialogue_key(location, person))
        return dialogue_from_json(note.value) if note is not None else None

    async def _save(self, location: ChatLocation, person: Person, dialogue: EditDialogue) -> None:
        name, account, key = self._channel.name, self._channel.account, dialogue_key(location, person)
        await self._store.channel_state.put(ChannelStateEntry(name, account, DIALOGUE_KIND, key, dialogue.to_json()))

    async def _end(self, key: str, dialogue: EditDialogue) -> None:
        if dialogue.version:
            await self._prompts.codes.drop_version(dialogue.version)
        await self._store.channel_state.remove(self._channel.name, self._channel.account, DIALOGUE_KIND, key)

    async def _write(self, dialogue: EditDialogue, outgoing: OutboundMessage) -> None:
        name = f"editing:{self._channel.name}:{self._channel.account}:{dialogue.last}"
        await self._writer.write(dialogue.chat, name, outgoing, "question", recipient=dialogue.recipient)

    async def _reply(self, message: InboundMessage, text: str) -> None:
        name = f"editing:{self._channel.name}:{self._channel.account}:{message.external_id}"
        await self._writer.write_reply(message.location, message.person, name, text, message.message_id)
