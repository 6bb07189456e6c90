"""Request and response formats of OpenAI chat completions.

Source: OpenAI API reference, Chat Completions. Supported request fields are the text of messages, `model`, `stream` and
`stream_options`; sampling parameters and the client's tools are ignored, because the chain has its own.
"""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from sophon.errors import InputError
from sophon.messages import FinishReason, Message, Usage

AUTO_MODEL = "sophon"
"""Model name that lets routing choose the model."""

OPENAI_FINISH_REASONS: dict[FinishReason, str] = {"length": "length", "max_iterations": "length"}
"""OpenAI finish reason by the turn's finish reason; all others are `stop`."""

HistoryEntry = tuple[Literal["user", "assistant"], str]
"""Role and text of one previous message."""


class ContentPart(BaseModel):
    """A content part of a message."""

    model_config = ConfigDict(extra="ignore", strict=True)

    type: str
    text: str | None = None


class CompletionMessage(BaseModel):
    """A message of the request."""

    model_config = ConfigDict(extra="ignore", strict=True)

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[ContentPart] | None = None


class CompletionRequest(BaseModel):
    """Body of `POST /v1/chat/completions`."""

    model_config = ConfigDict(extra="ignore", strict=True, hide_input_in_errors=True)

    model: str = AUTO_MODEL
    messages: list[CompletionMessage]
    stream: bool = False
    stream_options: dict[str, Any] | None = None

    @property
    def includes_usage(self) -> bool:
        """Whether the stream ends with a usage chunk."""
        return bool((self.stream_options or {}).get("include_usage"))


class CompletionInput(BaseModel):
    """Parsed request: the user message to answer, the previous messages, and instructions."""

    text: str
    history: list[HistoryEntry]
    instructions: str | None


def parse_completion_input(completion: CompletionRequest) -> CompletionInput:
    """Split the messages of a request into the message to answer, the history, and instructions.

    Drops calls of the client's tools and their results, because the chain does not have these tools. Raises InputError
    if the last message with text is not the user's, or if a message has content other than text.
    """
    texts = [(each.role, _text_content(each)) for each in completion.messages]
    instructions = "\n\n".join(text for role, text in texts if role in ("system", "developer") and text)
    history: list[HistoryEntry] = [
        (role, text) for role, text in texts if role in ("user", "assistant") and text.strip()
    ]
    if not history or history[-1][0] != "user":
        raise InputError("messages: the last message with text must be the user's")
    return CompletionInput(text=history[-1][1], history=history[:-1], instructions=instructions or None)


def to_history_messages(completion_input: CompletionInput) -> list[Message]:
    """Return the previous messages as `Message` objects."""
    return [Message(role, text) for role, text in completion_input.history]


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


def _response_header(task_id: str, model: str, created: int, kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{task_id}", "object": kind, "created": created, "model": model}


def _text_content(message: CompletionMessage) -> str:
    if isinstance(message.content, str) or message.content is None:
        return message.content or ""
    unsupported = next((part.type for part in message.content if part.type not in ("text", "refusal")), None)
    if unsupported is not None:
        raise InputError(f"messages: a part of type {unsupported!r} is not supported; send text")
    return "".join(part.text or "" for part in message.content)
