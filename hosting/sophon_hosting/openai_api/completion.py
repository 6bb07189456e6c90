"""A request of OpenAI's chat completions, and its answer, as their clients know them.

Source: OpenAI API reference, Chat Completions. Of what a request may hold, this takes the messages as text, the model
and `stream`; sampling and tools of the client's own are ignored: the chain has its own.
"""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from sophon.errors import InputError
from sophon.messages import FinishReason, Message, Usage

AUTO = "sophon"
"""The model name that lets routing choose."""

FINISHED: dict[FinishReason, str] = {"length": "length", "max_iterations": "length"}
"""Whatever else ends a turn is `stop` there."""


Spoken = tuple[Literal["user", "assistant"], str]


class Part(BaseModel):
    """A piece of a message."""

    model_config = ConfigDict(extra="ignore", strict=True)

    type: str
    text: str | None = None


class Said(BaseModel):
    """One message of the request."""

    model_config = ConfigDict(extra="ignore", strict=True)

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[Part] | None = None


class Completion(BaseModel):
    """A request."""

    model_config = ConfigDict(extra="ignore", strict=True, hide_input_in_errors=True)

    model: str = AUTO
    messages: list[Said]
    stream: bool = False
    stream_options: dict[str, Any] | None = None

    @property
    def counts(self) -> bool:
        """Whether a stream ends with what was used."""
        return bool((self.stream_options or {}).get("include_usage"))


class Talk(BaseModel):
    """What a request comes to: the message to be answered, what was said before, and instructions."""

    text: str
    before: list[Spoken]
    instructions: str | None


def talk_of(completion: Completion) -> Talk:
    """Raises InputError for what holds no message to be answered, or more than text.

    Calls of the client's own tools, and their results, are left out: the chain would not know the tools.
    """
    said = [(each.role, _text(each)) for each in completion.messages]
    instructions = "\n\n".join(text for role, text in said if role in ("system", "developer") and text)
    spoken: list[Spoken] = [(role, text) for role, text in said if role in ("user", "assistant") and text.strip()]
    if not spoken or spoken[-1][0] != "user":
        raise InputError("messages: the last one with text is the user's, and is answered")
    return Talk(text=spoken[-1][1], before=spoken[:-1], instructions=instructions or None)


def history_of(talk: Talk) -> list[Message]:
    """What was said before, as messages."""
    return [Message(role, text) for role, text in talk.before]


def whole(task_id: str, model: str, created: int, text: str, reason: FinishReason, usage: Usage) -> dict[str, Any]:
    """The answer in one piece."""
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": text, "refusal": None},
        "logprobs": None,
        "finish_reason": FINISHED.get(reason, "stop"),
    }
    return {**_head(task_id, model, created, "chat.completion"), "choices": [choice], "usage": used(usage)}


def piece(task_id: str, model: str, created: int, delta: dict[str, str], finish: str | None = None) -> dict[str, Any]:
    """A piece of a streamed answer."""
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    return {**_head(task_id, model, created, "chat.completion.chunk"), "choices": [choice]}


def last_piece(task_id: str, model: str, created: int, usage: Usage) -> dict[str, Any]:
    """What was used, where the client asks for it."""
    return {**_head(task_id, model, created, "chat.completion.chunk"), "choices": [], "usage": used(usage)}


def used(usage: Usage) -> dict[str, int]:
    """Tokens under the names that the clients know."""
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.total_tokens,
    }


def finish_of(reason: FinishReason) -> str:
    """Under the name that the clients know."""
    return FINISHED.get(reason, "stop")


def _head(task_id: str, model: str, created: int, kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{task_id}", "object": kind, "created": created, "model": model}


def _text(said: Said) -> str:
    if isinstance(said.content, str) or said.content is None:
        return said.content or ""
    other = next((part.type for part in said.content if part.type not in ("text", "refusal")), None)
    if other is not None:
        raise InputError(f"messages: a part of type {other!r} is not taken; send text")
    return "".join(part.text or "" for part in said.content)
