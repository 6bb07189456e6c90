"""Request and response formats of OpenAI chat completions.

Source: OpenAI API reference, Chat Completions. Supported request fields are the text and images of messages, `model`,
`stream` and `stream_options`; `n` and `response_format` may ask for one text only. Sampling parameters and the
definitions of the client's tools are ignored, because the chain has its own. What such tools did is refused: without
it, a request that ends with it would answer the message before it again, and run its calls twice.
"""

from collections.abc import Sequence
from typing import Any, Literal

from sophon._python.lazy_dataclass import dataclass
from sophon.errors import InputError
from sophon.images import Image, image_from_url
from sophon.messages import FinishReason, Message, Usage
from sophon.turn.option_checks import check_image_count
from sophon_hosting.operations.request import Request

AUTO_MODEL = "sophon"
"""Model name that lets routing choose the model."""

OPENAI_FINISH_REASONS: dict[FinishReason, str] = {"length": "length", "max_iterations": "length"}
"""OpenAI finish reason by the turn's finish reason; all others are `stop`."""

HistoryEntry = tuple[Literal["user", "assistant"], str, Sequence[Image]]
"""Role, text and images of one message."""


_PART_TYPES = ("text", "refusal", "image_url")


class ImageAddress(Request):
    """An image: a `data:` URL, or the address from which the provider loads it."""

    ignores_unknown = True

    url: str


class ContentPart(Request):
    """A content part of a message."""

    ignores_unknown = True

    type: str
    text: str | None = None
    image_url: ImageAddress | None = None


class CompletionMessage(Request):
    """A message of the request."""

    ignores_unknown = True

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[ContentPart] | None = None
    tool_calls: list[Any] | None = None
    function_call: dict[str, Any] | None = None


class CompletionRequest(Request):
    """Body of `POST /v1/chat/completions`."""

    ignores_unknown = True

    model: str = AUTO_MODEL
    messages: list[CompletionMessage]
    stream: bool = False
    stream_options: dict[str, Any] | None = None
    n: int | None = None
    response_format: dict[str, Any] | None = None
    client_message_id: str | None = None

    @property
    def includes_usage(self) -> bool:
        """Whether the stream ends with a usage chunk."""
        return bool((self.stream_options or {}).get("include_usage"))


@dataclass(frozen=True, slots=True)
class CompletionInput:
    """Parsed request: the user message to answer with its images, the previous messages, and instructions."""

    text: str
    images: Sequence[Image]
    history: list[HistoryEntry]
    instructions: str | None


def parse_completion_input(completion: CompletionRequest) -> CompletionInput:
    """Split the messages of a request into the message to answer, the history, and instructions.

    Raises InputError for calls of the client's tools and their results, if the last message with text is not the
    user's, if a message has content other than text and images, or an image that is none, and for more than one
    choice or another format than text.
    """
    _check_answer_form(completion)
    for index, each in enumerate(completion.messages):
        if each.role in ("tool", "function") or each.tool_calls or each.function_call:
            kind = "a call of a tool" if each.role == "assistant" else "a result of a tool"
            raise InputError(
                f"messages[{index}]: {kind} is not supported, because the client's own tools are not run here; send "
                "the messages of the user and the assistant only, as text"
            )
    texts = [(each.role, _text_content(each), _images(each)) for each in completion.messages]
    instructions = "\n\n".join(text for role, text, _ in texts if role in ("system", "developer") and text)
    history: list[HistoryEntry] = [
        (role, text, images)
        for role, text, images in texts
        if role in ("user", "assistant") and (text.strip() or images)
    ]
    if not history or history[-1][0] != "user" or not history[-1][1].strip():
        raise InputError("messages: the last message with text must be the user's")
    _, text, images = history[-1]
    return CompletionInput(text=text, images=images, history=history[:-1], instructions=instructions or None)


def to_history_messages(completion_input: CompletionInput) -> list[Message]:
    """Return the previous messages as `Message` objects."""
    return [Message(role, text, images=tuple(images)) for role, text, images in completion_input.history]


def build_completion(
    task_id: str, model: str, created: int, text: str, reason: FinishReason, usage: Usage
) -> dict[str, Any]:
    """Return a `chat.completion` object with the whole answer."""
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": text, "refusal": None},
        "logprobs": None,
        "finish_reason": OPENAI_FINISH_REASONS.get(reason, "stop"),
    }
    header = _response_header(task_id, model, created, "chat.completion")
    return {**header, "choices": [choice], "usage": to_openai_usage(usage)}


def build_chunk(
    task_id: str, model: str, created: int, delta: dict[str, str], finish: str | None = None
) -> dict[str, Any]:
    """Return a `chat.completion.chunk` object of a streamed answer."""
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    return {**_response_header(task_id, model, created, "chat.completion.chunk"), "choices": [choice]}


def build_usage_chunk(task_id: str, model: str, created: int, usage: Usage) -> dict[str, Any]:
    """Return the last chunk, with the usage; for clients that request it with `include_usage`."""
    header = _response_header(task_id, model, created, "chat.completion.chunk")
    return {**header, "choices": [], "usage": to_openai_usage(usage)}


def to_openai_usage(usage: Usage) -> dict[str, int]:
    """Convert token counts to OpenAI's `usage` object."""
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.total_tokens,
    }


def to_openai_finish_reason(reason: FinishReason) -> str:
    """Convert a finish reason to OpenAI's."""
    return OPENAI_FINISH_REASONS.get(reason, "stop")


def _check_answer_form(completion: CompletionRequest) -> None:
    """Refuse what changes the form of the answer: a client that asks for it cannot read another form."""
    if completion.n not in (None, 1):
        raise InputError(f"n: {completion.n} choices are not supported; ask for one")
    wanted = (completion.response_format or {}).get("type", "text")
    if wanted != "text":
        raise InputError(f"response_format: {wanted!r} is not supported; the answer is text")


def _response_header(task_id: str, model: str, created: int, kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{task_id}", "object": kind, "created": created, "model": model}


def _images(message: CompletionMessage) -> Sequence[Image]:
    if isinstance(message.content, str) or message.content is None:
        return ()
    parts = [part for part in message.content if part.type == "image_url"]
    if parts and message.role != "user":
        raise InputError("messages: only a message of the user may have images")
    images = [image_from_url(part.image_url.url if part.image_url else "") for part in parts]
    check_image_count(images)
    return images


def _text_content(message: CompletionMessage) -> str:
    if isinstance(message.content, str) or message.content is None:
        return message.content or ""
    unsupported = next((part.type for part in message.content if part.type not in _PART_TYPES), None)
    if unsupported is not None:
        raise InputError(f"messages: a part of type {unsupported!r} is not supported; send text or images")
    return "".join(part.text or "" for part in message.content)
