"""Lets a model without function calling use the same tools: they are described, called and answered in text."""

from collections.abc import Awaitable
from dataclasses import replace

from sophon.context import Context
from sophon.models.model import Call, ModelRequest, ModelResponse, OnText
from sophon.pipeline import Next
from sophon_middlewares.outer.bridge.tool_call_scanner import ToolCallScanner, scan
from sophon_middlewares.outer.bridge.tool_dialect import ToolDialect, added_text, mentions_tools, tool_prompt


class PromptToolBridge:
    """A call layer: tools into the system prompt, history into the same dialect, `<tool_call>` blocks into calls.

    Acts on each call of a model that has no function calling. The request is put into the dialect when there are tools
    or the history has calls; the reply is scanned always: a model may write blocks that nobody asked for, as in the
    final call of a plan. Which model is asked is known only per candidate (design.md 3), so a fallback gets its own
    dialect. The text that is added is told to ContextWindow. A block that cannot be read becomes a call that is
    `malformed`, which ToolExecution answers. Of what streams, no tag reaches the listener: see ToolCallScanner.
    Source: reference/sophon.md 5.6.
    """

    zone = "outer"
    unique = True
    after = ("ContextWindow", "ToolFilter")
    before = ("Planning", "AgenticLoop", "LlmInvoker")
    acts = {
        "model call": "for a model without function calling: tools as text in the prompt, blocks in the reply as calls"
    }

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        ctx.overheads.append(overhead)
        ctx.call_layers.append(BridgeLayer())
        await next(ctx)


class BridgeLayer:
    """What one turn's calls pass through; it keeps what it has rendered, so that a round costs only what is new."""

    __slots__ = ("_dialect",)

    def __init__(self) -> None:
        self._dialect = ToolDialect()

    def __call__(self, request: ModelRequest, call: Call) -> Awaitable[ModelResponse]:
        # Handed on as it is: for a model with function calling the bridge costs no await.
        return call(request) if request.model.function_calling else self._bridged(request, call)

    async def _bridged(self, request: ModelRequest, call: Call) -> ModelResponse:
        listener = BridgedListener(request.on_text) if request.on_text is not None else None
        messages = request.messages
        if speaks_of_tools(request):
            messages = self._dialect.rendered(messages, tool_prompt(tuple(request.tools)))
        bridged = request.with_(messages=messages, tools=(), tool_choice="none", on_text=listener)
        response = understood(await call(bridged))
        if listener is not None:
            listener.conclude(response.text)
        return response


class BridgedListener:
    """Lets through to the listener what a person may see. `restart` is called before each attempt of the model."""

    __slots__ = ("_on_text", "_scanner", "_shown")

    def __init__(self, on_text: OnText) -> None:
        self._on_text = on_text
        self._scanner = ToolCallScanner()
        self._shown: list[str] = []

    def __call__(self, text: str) -> None:
        self._show(self._scanner.feed(text))

    def restart(self) -> None:
        """The model begins anew: what was held back of an attempt that failed is no part of this one."""
        self._scanner = ToolCallScanner()

    def conclude(self, visible: str) -> None:
        """The reply is complete; what was held back of it and may be seen goes out."""
        shown = "".join(self._shown)
        if visible.startswith(shown):
            self._show(visible[len(shown) :])

    def _show(self, text: str) -> None:
        if text:
            self._shown.append(text)
            self._on_text(text)


def speaks_of_tools(request: ModelRequest) -> bool:
    """Whether a request needs the dialect; also the last call of a turn does, from which the tools are withheld."""
    return bool(request.tools) or mentions_tools(request.messages)


def overhead(request: ModelRequest) -> str:
    """The text that the bridge will add to a request; "" for a model with function calling."""
    return "" if request.model.function_calling else added_text(request.tools, request.messages)


def understood(response: ModelResponse) -> ModelResponse:
    """A reply with its blocks as calls and only the rest as text; blocks beside native calls are dropped unread."""
    text, calls = scan(response.text)
    calls = response.tool_calls or calls
    return replace(
        response, text=text, tool_calls=calls, finish_reason="tool_calls" if calls else response.finish_reason
    )
