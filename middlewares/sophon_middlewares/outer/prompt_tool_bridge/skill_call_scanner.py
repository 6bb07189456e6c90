"""Streaming scanner of the `<skill>` dialect: finds calls in a model's reply, and separates the visible text."""

import re
from collections.abc import Mapping

from sophon._python.lazy_dataclass import dataclass
from sophon._python.lazy_pattern import lazy_pattern
from sophon.messages import ToolCall
from sophon_middlewares.outer.prompt_tool_bridge.skill_call_arguments import ParameterTypes, parse_skill_call
from sophon_middlewares.outer.prompt_tool_bridge.skill_call_fallback_forms import (
    Match,
    SkillCallCandidate,
    match_opening,
)
from sophon_middlewares.outer.prompt_tool_bridge.text_without_tags import VisibleTextBuffer
from sophon_middlewares.outer.prompt_tool_bridge.tool_call_block_end import MAX_BLOCK_CHARACTERS
from sophon_middlewares.outer.prompt_tool_bridge.tool_tags import SKILL_TAGS

MAX_FALSE_CANDIDATES = 16
"""Texts per reply that may begin like a call in a fallback form and be none; keeps the time linear."""

_SPECIAL = lazy_pattern(r"[<\[\n]")
_CLOSING = lazy_pattern(r"<[ \t\r\n]{0,4}/[ \t\r\n]{0,4}skill(?![\w.:-])[ \t\r\n]{0,7}>", re.IGNORECASE)
_OPENING = lazy_pattern(r"<[ \t\r\n]{0,4}skill(?![\w.:-])[^<>{}]{0,199}>", re.IGNORECASE)

_UNCLOSED = "the call was not closed with </skill> (to show the tag without calling, put it in a code fence)"
_OVERLONG = f"the call is longer than {MAX_BLOCK_CHARACTERS} characters"


@dataclass(slots=True)
class _Batches:
    """Numbers batches in the order of the text: each call outside `<parallel>` is one, and so is each `<parallel>`."""

    last: int = 0
    open: bool = False

    def take(self) -> int:
        """Return the batch of the next call."""
        if not self.open:
            self.last += 1
        return self.last


class SkillCallScanner:
    """`feed` and `close` return visible text; after `close`, `calls` holds the calls in the order of the text.

    - `<skill>name(...)</skill>` is a call; one that cannot be parsed, or is not closed, is malformed. The same text
      twice is one call, as published.
    - Calls within `<parallel>` are one batch, each other call is a batch of its own.
    - The fallback forms are calls only if the reply has no `<skill>`; they are never visible.
    - In a code fence everything is plain text. A `<tool_result>` in a reply is invented: its tags are dropped, and
      calls in it are shown with `&lt;` and do not run.

    Neither text nor calls depend on how the text was chunked, and the time is linear in its length.
    """

    __slots__ = (
        "_at_line_start",
        "_batches",
        "_block",
        "_block_size",
        "_candidate",
        "_canonical",
        "_fallback",
        "_false_candidates",
        "_in_tool_result",
        "_names",
        "_rest",
        "_seen",
        "_types",
        "_visible",
    )

    def __init__(self, types: Mapping[str, ParameterTypes]) -> None:
        self._types = types
        self._names = frozenset(types) | frozenset(name.lower() for name in types)
        self._visible = VisibleTextBuffer()
        self._batches = _Batches()
        self._canonical: list[ToolCall] = []
        self._fallback: list[ToolCall] = []
        self._seen: set[str] = set()
        self._block: list[str] | None = None
        self._block_size = 0
        self._candidate: SkillCallCandidate | None = None
        self._false_candidates = 0
        self._at_line_start = True
        self._in_tool_result = False
        self._rest = ""

    @property
    def calls(self) -> list[ToolCall]:
        """The calls of the reply."""
        return self._canonical or self._fallback

    def feed(self, text: str) -> str:
        """Process the next piece of the reply; return the text that has become visible."""
        self._advance(self._rest + text, final=False)
        return self._visible.take()

    def close(self) -> str:
        """Process the end of the reply; return the remaining visible text."""
        self._advance(self._rest, final=True)
        if self._block is not None:
            self._end_block(_UNCLOSED)
        return self._visible.close()

    def _advance(self, text: str, *, final: bool) -> None:
        position = 0
        while True:
            before = position
            if self._block is not None:
                position = self._scan_block(text, position, final=final)
            elif self._candidate is not None:
                text, position, decided = self._scan_candidate(self._candidate, text, position, final=final)
                if decided:
                    continue
            elif position < len(text):
                position = self._scan_outside(text, position, final=final)
            if position == before:
                break
        self._rest = text[position:]

    def _scan_outside(self, text: str, position: int, *, final: bool) -> int:
        if self._at_line_start and not self._visible.in_code_fence:
            match, end = self._match_candidate(text, position, final=final)
            if match is not Match.NO:
                return end
        self._at_line_start = False
        special = _SPECIAL.search(text, position)
        start = len(text) if special is None else special.start()
        if start > position:
            self._visible.append(text[position:start])
        if special is None:
            return start
        if special[0] == "\n":
            self._visible.append("\n")
            self._at_line_start = True
            return start + 1
        return self._scan_special(text, start, final=final)

    def _scan_special(self, text: str, start: int, *, final: bool) -> int:
        """Process `<` or `[`."""
        if not self._visible.in_code_fence:
            if text[start] == "<":
                if not final and SKILL_TAGS.partial.match(text, start):
                    return start
                tag = SKILL_TAGS.tag.match(text, start)
                if tag is not None:
                    self._handle_tag(tag)
                    return tag.end()
            match, end = self._match_candidate(text, start, final=final)
            if match is not Match.NO:
                return end
        self._visible.append(text[start])
        return start + 1

    def _match_candidate(self, text: str, position: int, *, final: bool) -> tuple[Match, int]:
        if not self._names or self._in_tool_result or self._false_candidates >= MAX_FALSE_CANDIDATES:
            return Match.NO, position
        match, end = match_opening(text, position, self._names, final=final)
        if match is Match.YES:
            self._candidate = SkillCallCandidate(text[position:end])
        return match, end

    def _scan_candidate(
        self, candidate: SkillCallCandidate, text: str, position: int, *, final: bool
    ) -> tuple[str, int, bool]:
        """Return the text to go on with, the position in it, and whether the candidate was decided."""
        match, end = candidate.consume(text, position, final=final)
        if match is Match.PARTIAL:
            return text, end, False
        self._candidate = None
        call = parse_skill_call(candidate.call, self._types) if match is Match.YES else None
        if call is not None and call.malformed is None:
            self._visible.mark_removed()
            self._fallback.append(_with_batch(call, self._batches.take()))
            return text, end, True
        self._false_candidates += 1
        held = candidate.text
        first = 1 if held[0] in "<[" else 0  # the bracket is text, and what follows it is read again
        self._visible.append(held[:first])
        self._at_line_start = False
        return held[first:] + text[end:], 0, True

    def _handle_tag(self, tag: re.Match[str]) -> None:
        opens, name = tag["open"] is not None, (tag["open"] or tag["close"]).lower()
        if self._in_tool_result and name != "tool_result":
            self._visible.append(SKILL_TAGS.escape(tag[0]))
            return
        self._visible.mark_removed()
        if name == "tool_result":
            self._in_tool_result = opens
        elif name == "parallel":
            self._batches.last += opens
            self._batches.open = opens
        elif opens:
            self._block, self._block_size = [], 0

    def _scan_block(self, text: str, position: int, *, final: bool) -> int:
        assert self._block is not None
        closing = _CLOSING.search(text, position)
        if closing is not None:
            self._collect(text[position : closing.start()])
            self._end_block(None)
            return closing.end()
        end = len(text)
        if not final:
            last = text.rfind("<", max(position, end - SKILL_TAGS.max_partial_characters))
            end = last if last >= 0 and SKILL_TAGS.partial.match(text, last) else end
        self._collect(text[position:end])
        return end

    def _collect(self, text: str) -> None:
        assert self._block is not None
        if text and self._block_size <= MAX_BLOCK_CHARACTERS:
            self._block.append(text)
        self._block_size += len(text)

    def _end_block(self, reason: str | None) -> None:
        assert self._block is not None
        text, self._block = "".join(self._block), None
        if self._block_size > MAX_BLOCK_CHARACTERS:
            text, reason = text[:1024], _OVERLONG
        call = parse_skill_call(text, self._types)
        if call.malformed is not None and (inner := list(_OPENING.finditer(text))):
            # An earlier call was not closed: the last opening tag begins the call that was.
            for part in _split(text, inner):
                self._add(part, _UNCLOSED)
            self._add(text[inner[-1].end() :], reason)
        else:
            self._add(text, reason)

    def _add(self, text: str, reason: str | None) -> None:
        if text.strip() in self._seen:
            return
        self._seen.add(text.strip())
        call = parse_skill_call(text[:1024] if reason else text, self._types)
        if reason is not None:
            call = ToolCall("", call.name, {}, reason)
        self._canonical.append(_with_batch(call, self._batches.take()))


def _split(text: str, openings: list[re.Match[str]]) -> list[str]:
    """Return the texts before each of the opening tags."""
    starts = [0, *(opening.end() for opening in openings[:-1])]
    return [text[start : opening.start()] for start, opening in zip(starts, openings, strict=True)]


def _with_batch(call: ToolCall, batch: int) -> ToolCall:
    return ToolCall("", call.name, call.arguments, call.malformed, batch)
