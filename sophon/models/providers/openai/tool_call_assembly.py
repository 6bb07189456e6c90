"""Assembly of the tool calls of a response, from its deltas or whole."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, Self, cast

import orjson

from sophon._python.lazy_dataclass import dataclass, new_dict, new_list
from sophon.messages import ToolCall
from sophon.models.providers.openai.reasoning import CALL_FIELDS, EXTRA_CONTENT
from sophon.models.providers.openai.request import tool_names_by_wire_name
from sophon.models.providers.third_party_json import as_count, as_mapping, as_text
from sophon.security import redact_and_cut
from sophon.tools.tool import Tool

_NO_WHITE_SPACE = re.compile(r"[^ \t\n\r]")

_STRUCTURE = re.compile(r'["{}\[\]]')

_IN_STRING = re.compile(r'["\\]')


@dataclass(frozen=True, slots=True)
class ToolCallDelta:
    """A piece of a tool call, or in a whole response the call itself."""

    id: str
    index: int | None
    name: str
    arguments: str
    extra: Mapping[str, Any] = field(default_factory=new_dict)
    """`extra_content`, which is sent back with the call."""

    @classmethod
    def from_piece(cls, piece: Mapping[str, Any]) -> Self:
        """Read an entry of `tool_calls`."""
        function = as_mapping(piece.get("function"))
        given: object = function.get("arguments")
        arguments = "" if given is None else given if isinstance(given, str) else orjson.dumps(given).decode()
        return cls(
            as_text(piece.get("id")),
            as_count(piece.get("index")),
            as_text(function.get("name")),
            arguments,
            as_mapping(piece.get(EXTRA_CONTENT)),
        )

    @property
    def has_header(self) -> bool:
        """Whether it says which call it belongs to."""
        return bool(self.id or self.name)


@dataclass(slots=True)
class JsonObjectScanner:
    """Whether the text so far is one object whose brackets are closed.

    It says nothing about the validity of what is between them: a closed text has to be parsed, and only that one.
    `is_closed` becomes False again, for good, if anything but white space follows.
    """

    is_closed: bool = False
    _depth: int = 0
    _is_in_string: bool = False
    _is_escaped: bool = False
    _is_broken: bool = False

    def feed(self, text: str) -> None:
        """Read the next piece."""
        position = 0
        while position < len(text) and not self._is_broken:
            if self._is_escaped:
                self._is_escaped = False
                position += 1
                continue
            found = self._next_pattern().search(text, position)
            if found is None:
                return
            self._read(found[0])
            position = found.end()

    def _next_pattern(self) -> re.Pattern[str]:
        if self._is_in_string:
            return _IN_STRING
        return _STRUCTURE if self._depth else _NO_WHITE_SPACE

    def _read(self, character: str) -> None:
        if self._is_in_string:
            self._is_escaped = character == "\\"
            self._is_in_string = self._is_escaped
        elif not self._depth and (self.is_closed or character != "{"):
            self._is_broken, self.is_closed = True, False
        elif character == '"':
            self._is_in_string = True
        else:
            self._depth += 1 if character in "{[" else -1
            self.is_closed = not self._depth


@dataclass(slots=True)
class _ToolCallDraft:
    """A tool call that is being assembled from its deltas.

    `is_announced_again`: a delta with its id or name, but without arguments, came after the arguments were complete;
    either it repeats the header, or it begins a further call with the same id.
    """

    id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=new_list)
    """The arguments; joined when they are read, because appending to a long text copies it."""
    extra: Mapping[str, Any] = field(default_factory=new_dict)
    is_announced_again: bool = False
    scanner: JsonObjectScanner = field(default_factory=JsonObjectScanner)
    scanned: int = 0
    """Number of pieces that the scanner has read."""
    is_valid: bool | None = None
    """Whether the arguments could be parsed when they were closed; None if they have not been parsed."""

    @property
    def arguments(self) -> str:
        """The arguments so far."""
        return "".join(self.pieces)

    def extend(self, delta: ToolCallDelta) -> None:
        """Append a delta."""
        self.id = self.id or delta.id
        self.name = self.name or delta.name
        self.extra = self.extra or delta.extra
        if delta.arguments:
            self.pieces.append(delta.arguments)

    def is_replaced_by(self, delta: ToolCallDelta) -> bool:
        """Return whether a delta at the same index has the header of another call."""
        return bool(self.name) and (bool(delta.id and self.id) or (delta.index is None and bool(delta.name)))

    def is_followed_by(self, delta: ToolCallDelta) -> bool:
        """Return whether a delta for this call begins a further call that shares its id."""
        if delta.name and self.name and delta.name != self.name:
            return True
        if not (delta.has_header or self.is_announced_again) or not self._is_complete():
            return False
        self.is_announced_again = not delta.arguments.strip()
        return not self.is_announced_again

    def _is_complete(self) -> bool:
        """Return whether the arguments are a valid object. Each piece is read once, and the whole is parsed once,
        because a provider can announce the call again with every delta.
        """
        while self.scanned < len(self.pieces):
            self.scanner.feed(self.pieces[self.scanned])
            self.scanned += 1
        if not self.scanner.is_closed:
            return False
        if self.is_valid is None:  # only white space can follow, which changes nothing
            self.is_valid = parse_tool_arguments(self.arguments)[1] is None
        return self.is_valid


class ToolCallAssembler:
    """Collects the tool calls of one response, in the order of their beginnings."""

    __slots__ = ("_draft_by_slot", "_drafts")

    def __init__(self) -> None:
        self._drafts: list[_ToolCallDraft] = []
        self._draft_by_slot: dict[object, _ToolCallDraft] = {}

    def __len__(self) -> int:
        return len(self._drafts)

    def add_whole(self, delta: ToolCallDelta, position: int) -> None:
        """Add an entry of a whole response, which is a call of its own whatever its id and index."""
        self._add_draft(_ToolCallDraft()).extend(delta)

    def add_delta(self, delta: ToolCallDelta, position: int) -> None:
        """Add an entry of a chunk; `position` is its place in the chunk."""
        self._find_draft(delta, position).extend(delta)

    def to_calls(self, tools: Sequence[Tool]) -> list[ToolCall]:
        """Return the calls under the registered names of their tools."""
        names = tool_names_by_wire_name(tools) if self._drafts else {}
        return [_to_tool_call(draft, names) for draft in self._drafts]

    def build_fields(self) -> dict[str, Any]:
        """Return what came with the calls and is sent back with them, as in `Reasoning.fields`."""
        if not any(draft.extra for draft in self._drafts):
            return {}
        return {CALL_FIELDS: [{EXTRA_CONTENT: dict(draft.extra)} if draft.extra else {} for draft in self._drafts]}

    def _add_draft(self, draft: _ToolCallDraft) -> _ToolCallDraft:
        self._drafts.append(draft)
        return draft

    def _find_draft(self, delta: ToolCallDelta, position: int) -> _ToolCallDraft:
        """Return the tool call to which a delta belongs: by index, and by id where several calls share an index.

        Some providers send no index, others always 0, others the same id for several calls: then a new call begins with
        another name, or with arguments after those of the first are complete.
        """
        slot = position if delta.index is None else delta.index
        id_slot = (delta.index, delta.id)
        by_id = self._draft_by_slot.get(id_slot) if delta.id else None
        draft = by_id or self._draft_by_slot.get(slot)
        if draft is None or (by_id is None and draft.is_replaced_by(delta)):
            draft = self._add_draft(_ToolCallDraft())
        elif draft.is_followed_by(delta):
            draft = self._add_draft(_ToolCallDraft() if delta.has_header else _ToolCallDraft(draft.id, draft.name))
        self._draft_by_slot[slot] = draft
        if delta.id:
            self._draft_by_slot[id_slot] = draft
        return draft


def parse_tool_arguments(text: str) -> tuple[dict[str, Any], str | None]:
    """Parse a tool call's arguments; return them and the error, if any. Empty text and null mean no arguments."""
    if not text.strip():
        return {}, None
    try:
        # The standard parser, because orjson rounds integers of more than 64 bits. strict=False accepts raw line breaks
        # in strings, the most frequent mistake of models.
        value: object = json.loads(text, strict=False, parse_constant=_reject_constant)
    except (ValueError, RecursionError) as error:
        return {}, f"the arguments are not valid JSON: {error}"
    if value is None:
        return {}, None
    if not isinstance(value, dict):
        return {}, f"the arguments are not a JSON object: {redact_and_cut(text, 200)}"
    return cast(dict[str, Any], value), None


def _reject_constant(constant: str) -> None:
    raise ValueError(f"{constant} is not a JSON number")


def _to_tool_call(draft: _ToolCallDraft, names: Mapping[str, str]) -> ToolCall:
    arguments, malformed = parse_tool_arguments(draft.arguments)
    return ToolCall(draft.id, names.get(draft.name, draft.name), arguments, malformed)
