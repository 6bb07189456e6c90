"""Render tools, calls and results as text for a model without function calling."""

from collections.abc import Iterable, Sequence
from itertools import takewhile

from sophon.messages import Message, to_canonical_json
from sophon.tools.tool import Tool
from sophon_middlewares.outer.prompt_tool_bridge.dialect import CallDialect
from sophon_middlewares.outer.prompt_tool_bridge.tool_call_json import UNKNOWN_NAME
from sophon_middlewares.outer.prompt_tool_bridge.tool_tags import TagSet

RESULT_TEMPLATE = '<tool_result name=""></tool_result>\n'
"""Approximate text that rendering adds to a result."""


def has_tool_messages(messages: Iterable[Message]) -> bool:
    """Return whether a history has tool calls or results."""
    return any(message.role == "tool" or message.tool_calls for message in messages)


def overhead_text(dialect: CallDialect, tools: Sequence[Tool], messages: Sequence[Message]) -> str:
    """Return the text that rendering adds to a request: the prompt, and a frame per result; "" if nothing is
    rendered.
    """
    results = sum(message.role == "tool" for message in messages)
    if not tools and not results and not has_tool_messages(messages):
        return ""
    return dialect.build_tool_prompt(tuple(tools)) + RESULT_TEMPLATE * results


class HistoryRenderer:
    """Renders the history of one turn. Rendered messages are cached, and so are their token counts."""

    __slots__ = ("_calls", "_dialect", "_results", "_system")

    def __init__(self, dialect: CallDialect) -> None:
        self._dialect = dialect
        self._system: tuple[Message | None, str, Message] | None = None
        # Keyed by id(), which is safe because the originals are kept alive here.
        self._calls: dict[int, tuple[Message, Message]] = {}
        self._results: dict[int, tuple[list[Message], Message]] = {}

    def render(self, messages: Sequence[Message], prompt: str) -> list[Message]:
        """Return the conversation without tool calls and the role `tool`; the prompt ends its system message.

        Calls become blocks in the text of their message; consecutive results become one user message.
        """
        has_system = bool(messages) and messages[0].role == "system"
        rendered = [self._render_system(messages[0] if has_system else None, prompt)]
        names: dict[str | None, str] = {}
        position = 1 if has_system else 0
        while position < len(messages):
            message = messages[position]
            if message.role == "tool":
                group = list(takewhile(lambda each: each.role == "tool", messages[position:]))
                rendered.append(self._render_results(group, names))
                position += len(group)
                continue
            if message.tool_calls:
                names.update((call.id, call.name) for call in message.tool_calls)
                message = self._render_calls(message)
            rendered.append(message)
            position += 1
        return rendered

    def _render_system(self, system: Message | None, prompt: str) -> Message:
        if self._system is None or self._system[0] is not system or self._system[1] != prompt:
            content = f"{system.content}\n\n{prompt}" if system is not None and system.content else prompt
            self._system = (system, prompt, Message("system", content))
        return self._system[2]

    def _render_calls(self, message: Message) -> Message:
        known = self._calls.get(id(message))
        if known is None:
            known = self._calls[id(message)] = (message, render_calls(self._dialect, message))
        return known[1]

    def _render_results(self, group: list[Message], names: dict[str | None, str]) -> Message:
        known = self._results.get(id(group[0]))
        if known is None or not _are_same(known[0], group):
            known = self._results[id(group[0])] = (group, render_results(self._dialect, group, names))
        return known[1]


def render_calls(dialect: CallDialect, message: Message) -> Message:
    """Return an assistant message with its calls as blocks after its text."""
    blocks = dialect.render_calls(message.tool_calls)
    return Message("assistant", f"{message.content}\n{blocks}" if message.content else blocks)


def render_results(dialect: CallDialect, results: Sequence[Message], names: dict[str | None, str]) -> Message:
    """Return one user message of results, in which nothing can be mistaken for the dialect's tags; `names` is by call
    id.
    """
    return Message(
        "user",
        "\n".join(
            _render_result(dialect.tags, message, names.get(message.tool_call_id, UNKNOWN_NAME)) for message in results
        ),
    )


def _render_result(tags: TagSet, message: Message, name: str) -> str:
    quoted = tags.escape(to_canonical_json(name).decode().replace(">", r"\u003e").replace("<", r"\u003c"))
    return f"<tool_result name={quoted}>{tags.escape(message.content)}</tool_result>"


def _are_same(left: Sequence[Message], right: Sequence[Message]) -> bool:
    return len(left) == len(right) and all(mine is other for mine, other in zip(left, right, strict=True))
