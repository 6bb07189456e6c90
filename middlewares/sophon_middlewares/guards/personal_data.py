"""MaskPersonalData: models read placeholders in place of personal data; people and tools get the real values."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import ClassVar, TypeAlias

from sophon.chain.pipeline import Next
from sophon.clock import Clock
from sophon.context import Context
from sophon.extensions import Key
from sophon.messages import Message, Reasoning, ToolCall
from sophon.models.model import Call, ModelRequest, ModelResponse
from sophon.security.personal_data import ALL_KINDS, PersonalDataKind, compile_names
from sophon.security.placeholders import Placeholders, StreamRestorer
from sophon_middlewares.guards.redaction.model_redaction import rewrite_stream
from sophon_middlewares.tool_calls.result_redaction import MAX_INLINE_CHARACTERS

Names: TypeAlias = Sequence[str] | Callable[[Context], Sequence[str]]

NOTE = Message(
    "system",
    "Texts in brackets such as [EMAIL_1] or [NAME_2] stand for real values, which you do not see. Write them exactly "
    "as they are, also in the arguments of tools: whoever reads your text, and every tool, gets the real value.",
)
"""Sent behind the system prompt of each request with a placeholder."""

_HOOK: Key["MaskingHook"] = Key("personal_data.hook")


class MaskPersonalData:
    """Replaces personal data by placeholders in each model call of the turn, of every purpose, its plan steps and
    sub-agents, and puts the values back into the answer, whole or streamed, the reasoning and the arguments of tool
    calls. Messages, history, tools and approvals have the real values.

    `kinds` are those of `sophon.security.personal_data`, by default all: e-mail addresses, phone numbers, IBANs and
    credit cards with a valid check digit, IP addresses. `names` are masked as whole words, whatever their case: a
    sequence, or a function of the turn that is called once in each. A value has one placeholder in a turn.

    Not masked: what no kind describes, tool schemas, images and PDFs, and what is sent to an embedder. Raises
    ValueError for an unknown kind, an empty name, and one with a quote, a backslash or a control character, which would
    break the JSON of a tool call.
    """

    zone = "outer"
    unique = True
    calls_next = True
    after = ("SessionEvents",)
    before = ("Planning", "AgenticLoop", "LlmInvoker")
    hooks_model_calls = True
    acts: ClassVar[Mapping[str, str]] = {
        "model call": "of every purpose: placeholders in place of personal data; puts the values back into the response"
    }

    def __init__(self, *, kinds: Collection[PersonalDataKind] = ALL_KINDS, names: Names = ()) -> None:
        if isinstance(kinds, str):
            raise ValueError(f"kinds must be several texts, not the text {kinds!r}")  # noqa: TRY004 - as for its content
        self._kinds: tuple[PersonalDataKind, ...] = tuple(_check_kind(each) for each in kinds)
        self._names: Names = names if callable(names) else _check_names(names)

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        ctx.request_overheads.append(_find_overhead)
        try:
            hook = self._find_hook(ctx)
            if hook in ctx.model_hooks:  # inherited from the turn that this step belongs to
                await next(ctx)
            else:
                with ctx.model_hook(hook):
                    await next(ctx)
        finally:
            ctx.request_overheads.remove(_find_overhead)

    def _find_hook(self, ctx: Context) -> "MaskingHook":
        root = ctx.root
        hook = root.get(_HOOK)
        if hook is None:
            names = _check_names(self._names(root)) if callable(self._names) else self._names
            hook = MaskingHook(Placeholders(self._kinds, compile_names(tuple(names))), ctx.services.clock)
            root.put(_HOOK, hook)
        return hook


class MaskingHook:
    """Model hook of one turn; each message is masked once."""

    def __init__(self, placeholders: Placeholders, clock: Clock) -> None:
        self._placeholders, self._clock = placeholders, clock
        self._masked: dict[int, tuple[Message, Message]] = {}
        """By the id of a message: the message, which must live as long as its id counts, and the masked one."""

    async def __call__(self, request: ModelRequest, call: Call) -> ModelResponse:
        """Make the call with placeholders, and return its response with the values."""
        messages = await self._mask_all(request.messages)
        if messages == request.messages:
            return await call(request)
        place = next((at for at, each in enumerate(messages) if each.role != "system"), len(messages))
        messages.insert(place, NOTE)
        text, reasoning = rewrite_stream(request, lambda: StreamRestorer(self._placeholders))
        response = await call(request.copy_with(messages=messages, on_text=text, on_reasoning=reasoning))
        for listener in (reasoning, text):
            if listener is not None:
                listener.finish()
        return restore_response(response, self._placeholders)

    async def _mask_all(self, messages: Sequence[Message]) -> list[Message]:
        new = sum(len(each.content) for each in messages if id(each) not in self._masked)
        if new > MAX_INLINE_CHARACTERS:
            return await self._clock.run_in_thread(lambda: [*map(self._mask, messages)])
        return [*map(self._mask, messages)]

    def _mask(self, message: Message) -> Message:
        found = self._masked.get(id(message))
        if found is None:
            found = self._masked[id(message)] = (message, mask_message(message, self._placeholders))
        return found[1]


def mask_message(message: Message, placeholders: Placeholders) -> Message:
    """Return the message with placeholders; the same one if nothing in it is masked.

    Fields of the reasoning that the provider must get back unchanged are what it wrote itself, with placeholders.
    """
    mask = placeholders.mask
    calls = [_with_arguments(each, placeholders.mask_json(each.arguments)) for each in message.tool_calls]
    reasoning = message.reasoning
    if reasoning is not None:
        reasoning = Reasoning(mask(reasoning.text), reasoning.model, reasoning.fields)
    masked = replace(
        message,
        content=mask(message.content),
        tool_calls=calls,
        reasoning=reasoning,
        images=tuple(replace(each, name=mask(each.name)) for each in message.images),
        documents=tuple(replace(each, name=mask(each.name)) for each in message.documents),
    )
    return message if masked == message else masked


def restore_response(response: ModelResponse, placeholders: Placeholders) -> ModelResponse:
    """Return the response with values in place of placeholders: text, reasoning, and arguments of tool calls."""
    restore = placeholders.restore
    fields = response.reasoning_fields
    if fields and restore(response.reasoning) != response.reasoning:  # None stands for the text
        fields = {name: response.reasoning if value is None else value for name, value in fields.items()}
    return response.copy_with(
        text=restore(response.text),
        reasoning=restore(response.reasoning),
        reasoning_fields=fields,
        tool_calls=[_with_arguments(each, placeholders.restore_json(each.arguments)) for each in response.tool_calls],
    )


def _with_arguments(call: ToolCall, arguments: Mapping[str, object]) -> ToolCall:
    return call if arguments == call.arguments else replace(call, arguments=arguments)


def _find_overhead(_: ModelRequest) -> str:
    return NOTE.content


def _check_kind(kind: PersonalDataKind) -> PersonalDataKind:
    if kind not in ALL_KINDS:
        near = get_close_matches(str(kind), ALL_KINDS, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else f"; the kinds are {', '.join(sorted(ALL_KINDS))}"
        raise ValueError(f"there is no kind of personal data {kind!r}{hint}")
    return kind


def _check_names(names: Sequence[str]) -> Sequence[str]:
    if isinstance(names, str):
        raise ValueError(f"names must be several texts, not the text {names!r}")  # noqa: TRY004 - as for its content
    for name in names:
        if not _is_name(name):
            raise ValueError(f"{name!r} cannot be masked: a name has letters, and no quote, backslash or line break")
    return tuple(names)


def _is_name(name: object) -> bool:
    if not isinstance(name, str) or not name.strip():
        return False
    return all(each not in '"\\' and each.isprintable() for each in name)
