"""Prompt tool bridge: gives tools to a model without function calling; renders tools, calls and results as text."""

from collections.abc import Awaitable, Iterable, Sequence
from dataclasses import replace
from itertools import takewhile

from sophon.chain.argument_checks import check_argument
from sophon.chain.pipeline import Next
from sophon.context import Context
from sophon.messages import Message, to_canonical_json
from sophon.models.model import Call, ModelRequest, ModelResponse, OnText
from sophon.tools.tool import Tool
from sophon_middlewares.outer.prompt_tool_bridge.call_dialect import CallDialect, scan_reply
from sophon_middlewares.outer.prompt_tool_bridge.tool_call_blocks import ToolCallBlocks
from sophon_middlewares.outer.prompt_tool_bridge.tool_call_json import UNKNOWN_NAME
from sophon_middlewares.outer.prompt_tool_bridge.tool_tags import TagSet
from sophon_middlewares.outer.tool_filter.tool_filter import TEXT_ONLY

RESULT_TEMPLATE = '<tool_result name=""></tool_result>\n'
"""Approximate text that rendering adds to a result."""


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


class PromptToolBridge:
    """Call layer that renders tools and tool history as text, and parses `<tool_call>` blocks in replies into calls.

    Acts on each call of a model without function calling. The request is rendered if there are tools or the history has
    calls; the reply is always scanned, because a model may write blocks unasked, for example in a plan's final call.
    The model is known only per candidate, so each fallback is handled separately. The size of the added
    text is registered for ContextWindow. A block that cannot be parsed becomes a call that is `malformed`, which
    ToolExecution answers. In a turn that is text only (`text_only.TEXT_ONLY`) no reply is scanned. Tags never reach the
    listener of a streamed reply: see ToolCallScanner. Source: Sophon's guide, prompt-tool bridge.
    """

    zone = "outer"
    unique = True
    calls_next = True
    after = ("ContextWindow", "ToolFilter")
    before = ("Planning", "LlmInvoker")
    repeats_after = ("ToolExecution",)
    acts = {
        "model call": "for a model without function calling: tools as text in the prompt, blocks in the reply as calls"
    }

    def __init__(self, *, dialect: CallDialect | None = None) -> None:
        check_argument("PromptToolBridge(dialect)", dialect, "render_calls", "a dialect, such as SkillCalls()")
        self._dialect: CallDialect = dialect or ToolCallBlocks()

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        layer = BridgeLayer(self._dialect, parses=not ctx.get(TEXT_ONLY))
        with ctx.call_layer(layer, overhead=self.overhead):
            await next(ctx)

    def overhead(self, request: ModelRequest) -> str:
        """Return the text that the bridge will add to a request; "" for a model with function calling."""
        if request.model.function_calling:
            return ""
        return overhead_text(self._dialect, request.tools, request.messages)


class BridgeLayer:
    """The call layer of one turn. Caches what it has rendered, so that a round costs only what is new."""

    __slots__ = ("_dialect", "_parses", "_renderer")

    without_function_calling_only = True

    def __init__(self, dialect: CallDialect, *, parses: bool = True) -> None:
        self._dialect, self._parses = dialect, parses
        self._renderer: HistoryRenderer | None = None

    def __call__(self, request: ModelRequest, call: Call) -> Awaitable[ModelResponse]:
        # Returned without await: the bridge costs nothing for a model with function calling.
        return call(request) if request.model.function_calling else self._call_with_text_tools(request, call)

    async def _call_with_text_tools(self, request: ModelRequest, call: Call) -> ModelResponse:
        if not self._parses:
            return await call(self._render(request))
        dialect, tools = self._dialect, request.tools
        listener = None if request.on_text is None else VisibleTextListener(request.on_text, dialect, tools)
        bridged = self._render(request).copy_with(on_text=listener)
        response = parse_response(await call(bridged), dialect, tools)
        if listener is not None:
            listener.finish(response.text)
        return response

    def _render(self, request: ModelRequest) -> ModelRequest:
        messages = request.messages
        if needs_rendering(request):
            if self._renderer is None:
                self._renderer = HistoryRenderer(self._dialect)
            prompt = self._dialect.build_tool_prompt(tuple(request.tools))
            messages = self._renderer.render(messages, prompt)
        return request.copy_with(messages=messages, tools=(), tool_choice="none")


class VisibleTextListener:
    """Passes only visible text to the listener. `restart` is called before each attempt."""

    __slots__ = ("_dialect", "_on_text", "_scanner", "_shown", "_tools")

    def __init__(self, on_text: OnText, dialect: CallDialect, tools: Sequence[Tool]) -> None:
        self._on_text = on_text
        self._dialect, self._tools = dialect, tools
        self._scanner = dialect.open_scanner(tools)
        self._shown: list[str] = []

    def __call__(self, text: str) -> None:
        self._show(self._scanner.feed(text))

    def restart(self) -> None:
        """Reset for a new attempt: text of a failed attempt is discarded, also what the listener holds back."""
        self._scanner = self._dialect.open_scanner(self._tools)
        restart = getattr(self._on_text, "restart", None)
        if restart is not None:
            restart()
            self._shown.clear()

    def finish(self, visible: str) -> None:
        """Flush the buffered visible text at the end of the reply."""
        shown = "".join(self._shown)
        if visible.startswith(shown):
            self._show(visible[len(shown) :])

    def _show(self, text: str) -> None:
        if text:
            self._shown.append(text)
            self._on_text(text)


def needs_rendering(request: ModelRequest) -> bool:
    """Return whether a request needs rendering; the last call of a turn does too, although it offers no tools."""
    return bool(request.tools) or has_tool_messages(request.messages)


def parse_response(response: ModelResponse, dialect: CallDialect, tools: Sequence[Tool]) -> ModelResponse:
    """Return the response with blocks as calls and only the rest as text; native calls take precedence over blocks."""
    text, calls = scan_reply(response.text, dialect.open_scanner(tools))
    calls = response.tool_calls or calls
    return replace(
        response, text=text, tool_calls=calls, finish_reason="tool_calls" if calls else response.finish_reason
    )


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
