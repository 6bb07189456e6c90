"""System prompt: arranges the instructions and the workspace files as the sections that OpenParallax publishes."""

from collections.abc import Awaitable, Mapping
from typing import ClassVar, Final

from sophon.chain.pipeline import Next
from sophon.context import Context
from sophon.extensions import Key
from sophon.messages import Message
from sophon.models.model import Call, ModelRequest, ModelResponse
from sophon.turn.system_prompt import build_system_prompt

HAS_SECTIONS: Final[Key[bool]] = Key("system_prompt.has_sections")
"""Set where the prompt consists of sections: workspace files stand in front of the rules, and skills have a heading."""


class SystemPrompt:
    """Adds a call layer that gives the system prompt the published order, each section with heading and framing.

    Your Identity (IDENTITY.md, else the default one), Core Guardrails (SOUL.md), User Profile (USER.md), Your Memory
    (MEMORY.md), Behavioral Rules (the instructions, with the preferences of the person), Off The Record (only there),
    Sensitive Data Handling, Custom Skills. The files come from Memory, the skills from Skills. While no file and no
    setting changes, the prompt stays the same, for the prompt caches of providers. A turn without a system prompt, such
    as one of `Services()`, has none after it. Source: OpenParallax, system prompt.
    """

    zone = "outer"
    unique = True
    calls_next = True
    after = ("SessionEvents", "Preferences")
    before = ("ContextWindow", "Memory", "Skills", "PromptToolBridge", "LlmInvoker")
    acts: ClassVar[Mapping[str, str]] = {"model call": "arranges the system prompt in sections"}

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        ctx.put(HAS_SECTIONS, True)
        layer = SystemPromptLayer()
        with ctx.call_layer(layer, overhead=layer.find_overhead):
            await next(ctx)


class SystemPromptLayer:
    """The call layer of one turn; the prompt is built once per text."""

    __slots__ = ("_arranged", "_original")

    def __init__(self) -> None:
        self._original: Message | None = None
        self._arranged: Message | None = None

    def __call__(self, request: ModelRequest, call: Call) -> Awaitable[ModelResponse]:
        messages = request.messages
        if not messages or messages[0].role != "system":
            return call(request)
        return call(request.copy_with(messages=[self._arrange(messages[0]), *messages[1:]]))

    def find_overhead(self, request: ModelRequest) -> str:
        """Return a text as long as what the layer will add to a request; "" for one that it has arranged."""
        messages = request.messages
        if not messages or messages[0].role != "system" or messages[0] is self._arranged:
            return ""
        return self._arrange(messages[0]).content[len(messages[0].content) :]

    def _arrange(self, message: Message) -> Message:
        if self._arranged is None or self._original is not message:
            # Once per turn: what was counted and serialised of a message is kept with it.
            self._original, self._arranged = message, Message("system", build_system_prompt(message.content))
        return self._arranged


def add_heading(ctx: Context, text: str) -> str:
    """Return the section of the skills with its heading where the prompt has headings."""
    if not text or not ctx.get(HAS_SECTIONS):
        return text
    return f"# Custom Skills\nInstructions for particular tasks; those that are loaded hold for this task:\n{text}"
