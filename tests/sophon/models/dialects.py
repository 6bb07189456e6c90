"""The APIs that a server on loopback can speak: answers in OpenAI's form become those of the API, requests the reverse.

So one suite of tests asks the same of every adapter. What an API cannot express is not translated, and has own tests.
"""

import json
from collections.abc import Mapping
from typing import Any


def loads(text: str) -> Any:
    """Arguments as an object; what is none stays a text."""
    try:
        return json.loads(text, strict=False) if text else {}
    except ValueError:
        return text


def data_of(piece: bytes) -> Any:
    """The JSON of an event that a test wrote by hand, or None."""
    try:
        return json.loads(piece.removeprefix(b"data:"))
    except ValueError:
        return None


class OpenAI:
    """OpenAI's chat completions: nothing is translated."""

    path = "/v1/chat/completions"
    stream_type = "text/event-stream"

    def read(self, body: dict[str, Any]) -> dict[str, Any]:
        return body

    def key(self, headers: Mapping[str, str]) -> str | None:
        return headers["Authorization"].removeprefix("Bearer ") if "Authorization" in headers else None

    def whole(self, body: Any) -> Any:
        return body

    def stream(self) -> Any:
        return OpenAIStream()


class OpenAIStream:
    """The pieces of one answer as they are sent."""

    def feed(self, piece: Any) -> bytes:
        return piece if isinstance(piece, bytes) else b"data: " + json.dumps(piece).encode() + b"\n\n"

    def end(self, *, is_marked: bool) -> bytes:
        return b"data: [DONE]\n\n" if is_marked else b""


STOP_REASONS = {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens", "content_filter": "refusal"}
BROKEN = {"message": "upstream broke", "type": "api_error"}


class Anthropic(OpenAI):
    """Anthropic's Messages API."""

    path = "/v1/messages"

    def key(self, headers: Mapping[str, str]) -> str | None:
        return headers.get("x-api-key")

    def read(self, body: dict[str, Any]) -> dict[str, Any]:
        assert [each["role"] for each in body["messages"]] == [
            ("user", "assistant")[index % 2] for index in range(len(body["messages"]))
        ]
        system = [{"role": "system", "content": block["text"]} for block in body.get("system", ())]
        messages = [each for message in body["messages"] for each in self._messages(message)]
        read = {**body, "messages": [*system, *messages]}
        if "tools" in body:
            read["tools"] = [
                {"function": {"name": each["name"], "parameters": each["input_schema"]}} for each in body["tools"]
            ]
            read["tool_choice"] = body["tool_choice"]["type"]
        return read

    def _messages(self, message: Any) -> list[dict[str, Any]]:
        blocks: dict[str, list[Any]] = {}
        for block in message["content"]:
            blocks.setdefault(block["type"], []).append(block)
        texts = [block["text"] for block in blocks.get("text", ())]
        assert all(text.strip() for text in texts), "an empty text block is rejected"
        read: dict[str, Any] = {"role": message["role"], "content": "\n\n".join(texts) or None}
        if "tool_use" in blocks:
            read["tool_calls"] = [call(each["id"], each["name"], each["input"]) for each in blocks["tool_use"]]
        if "thinking" in blocks:
            read["reasoning_content"] = "".join(block["thinking"] for block in blocks["thinking"])
        results = [
            {"role": "tool", "tool_call_id": block["tool_use_id"], "content": block.get("content", "")}
            for block in blocks.get("tool_result", ())
        ]
        return results if results and not texts else [*results, read]

    def whole(self, body: Any) -> Any:
        try:
            if error := body.get("error"):
                return {"type": "error", "error": error}
            choice = body["choices"][0]
            message, finish = choice["message"], choice["finish_reason"]
        except (AttributeError, KeyError, IndexError, TypeError):
            return body
        if finish == "error":
            return {"type": "error", "error": BROKEN}
        thinking = [
            {"type": "thinking", "thinking": text, "signature": "sig"}
            for text in [message.get("reasoning_content")]
            if text
        ]
        text = [{"type": "text", "text": text} for text in [message.get("content")] if text]
        calls = [
            {
                "type": "tool_use",
                "id": each["id"],
                "name": each["function"]["name"],
                "input": loads(each["function"]["arguments"]),
            }
            for each in message.get("tool_calls") or ()
        ]
        return {
            "type": "message",
            "role": "assistant",
            "content": [*thinking, *text, *calls],
            "stop_reason": STOP_REASONS[finish],
            "usage": anthropic_usage(body.get("usage")),
        }

    def stream(self) -> Any:
        return AnthropicStream()


def call(call_id: str, name: str, arguments: Any) -> dict[str, Any]:
    text = json.dumps(arguments, separators=(",", ":"))
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": text}}


def anthropic_usage(usage: Any) -> dict[str, Any]:
    if not usage:
        return {}
    cached = usage.get("prompt_tokens_details", {}).get("cached_tokens", 0)
    thought = usage.get("completion_tokens_details", {}).get("reasoning_tokens", 0)
    return {
        "input_tokens": usage["prompt_tokens"] - cached,
        "cache_read_input_tokens": cached,
        "output_tokens": usage["completion_tokens"],
        "output_tokens_details": {"thinking_tokens": thought},
    }


def sse(kind: str, **fields: Any) -> bytes:
    """One event of Anthropic's streams."""
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()


class AnthropicStream:
    """Chunks of OpenAI's streams as events; a chunk that says nothing is a ping."""

    def __init__(self) -> None:
        self.has_begun = False
        self.open: tuple[str, int] | None = None
        self.blocks = 0
        self.block_by_call: dict[Any, int] = {}

    def feed(self, piece: Any) -> bytes:
        if isinstance(piece, bytes):
            data = data_of(piece)
            return piece if data is None else self.feed(data)
        if piece.get("error"):
            return sse("error", error=piece["error"])
        begin = b"" if self.has_begun else sse("message_start", message={"usage": {"output_tokens": 1}})
        self.has_begun = True
        events = b"".join(self._events(piece))
        return begin + (events or sse("ping"))

    def _events(self, piece: Any) -> Any:
        if piece.get("usage"):
            yield sse("message_delta", delta={}, usage=anthropic_usage(piece["usage"]))
        choices = piece.get("choices")
        if not choices:
            return
        try:
            delta, finish = choices[0].get("delta") or {}, choices[0].get("finish_reason")
        except (AttributeError, KeyError):
            yield sse("content_block_delta", delta={})
            return
        if delta.get("reasoning_content"):
            yield from self._piece("thinking", "thinking_delta", "thinking", delta["reasoning_content"])
        if delta.get("content"):
            yield from self._piece("text", "text_delta", "text", delta["content"])
        for each in delta.get("tool_calls") or ():
            yield from self._call(each)
        if finish == "error":
            yield sse("error", error=BROKEN)
        elif finish:
            yield sse("message_delta", delta={"stop_reason": STOP_REASONS[finish]}, usage={})

    def _start(self, kind: str, block: dict[str, Any]) -> Any:
        index, self.blocks = self.blocks, self.blocks + 1
        self.open = (kind, index)
        yield sse("content_block_start", index=index, content_block={"type": kind, **block})

    def _piece(self, kind: str, delta: str, field: str, text: str) -> Any:
        if self.open is None or self.open[0] != kind:
            yield from self._start(kind, {field: ""})
        assert self.open is not None
        yield sse("content_block_delta", index=self.open[1], delta={"type": delta, field: text})

    def _call(self, piece: Any) -> Any:
        function, place = piece["function"], piece["index"]
        if place not in self.block_by_call:
            yield from self._start("tool_use", {"id": piece["id"], "name": function["name"], "input": {}})
            assert self.open is not None
            self.block_by_call[place] = self.open[1]
        delta = {"type": "input_json_delta", "partial_json": function["arguments"]}
        yield sse("content_block_delta", index=self.block_by_call[place], delta=delta)

    def end(self, *, is_marked: bool) -> bytes:
        return sse("message_stop") if is_marked else b""


class Ollama(OpenAI):
    """Ollama's chat API."""

    path = "/api/chat"
    stream_type = "application/x-ndjson"

    def read(self, body: dict[str, Any]) -> dict[str, Any]:
        messages = [self._message(each) for each in body["messages"]]
        read = {**body, "messages": messages, "max_tokens": body["options"]["num_predict"]}
        return read | {"tool_choice": "auto"} if "tools" in body else read  # there is no other

    def _message(self, message: Any) -> dict[str, Any]:
        read = dict(message)
        if "tool_calls" in read:
            pairs = [(each["id"], each["function"]) for each in read["tool_calls"]]
            read["tool_calls"] = [call(place, each["name"], each["arguments"]) for place, each in pairs]
        if "thinking" in read:
            read["reasoning_content"] = read.pop("thinking")
        return read

    def whole(self, body: Any) -> Any:
        try:
            if error := body.get("error"):
                return {"error": error["message"] if isinstance(error, dict) else error}
            choice = body["choices"][0]
            message, finish = choice["message"], choice["finish_reason"]
        except (AttributeError, KeyError, IndexError, TypeError):
            return body
        if finish == "error":
            return {"error": BROKEN["message"]}
        return {
            "message": ollama_message(message),
            "done": True,
            "done_reason": finish,
            **ollama_usage(body.get("usage")),
        }

    def stream(self) -> Any:
        return OllamaStream()


def ollama_message(message: Any) -> dict[str, Any]:
    calls = [
        {
            "id": each["id"],
            "function": {"name": each["function"]["name"], "arguments": loads(each["function"]["arguments"])},
        }
        for each in message.get("tool_calls") or ()
    ]
    read = {"role": "assistant", "content": message.get("content") or ""}
    if message.get("reasoning_content"):
        read["thinking"] = message["reasoning_content"]
    return read | ({"tool_calls": calls} if calls else {})


def ollama_usage(usage: Any) -> dict[str, Any]:
    if not usage:
        return {}
    return {"prompt_eval_count": usage["prompt_tokens"], "eval_count": usage["completion_tokens"]}


class OllamaStream:
    """Chunks of OpenAI's streams as lines. Ollama sends calls whole, so that their pieces wait for the end."""

    def __init__(self) -> None:
        self.calls: dict[Any, dict[str, Any]] = {}
        self.last: dict[str, Any] | None = None
        self.usage: dict[str, Any] = {}

    def feed(self, piece: Any) -> bytes:
        if isinstance(piece, bytes):
            data = data_of(piece)
            return self.feed(data) if data is not None else b"" if piece[:1] == b":" else piece.removeprefix(b"data: ")
        return b"".join(json.dumps(each).encode() + b"\n" for each in self._lines(piece))

    def _lines(self, piece: Any) -> Any:
        if error := piece.get("error"):
            yield {"error": error["message"] if isinstance(error, dict) else error}
            return
        self.usage |= ollama_usage(piece.get("usage"))
        choices = piece.get("choices")
        if not choices:
            return
        try:
            delta, finish = choices[0].get("delta") or {}, choices[0].get("finish_reason")
        except (AttributeError, KeyError):
            yield {"message": [1]}
            return
        for each in delta.get("tool_calls") or ():
            known = self.calls.setdefault(each["index"], {"id": each.get("id"), "function": {"arguments": ""}})
            known["function"]["name"] = each["function"].get("name") or known["function"]["name"]
            known["function"]["arguments"] += each["function"]["arguments"]
            if len(known["function"]["arguments"]) > 500:
                yield self._take_calls()
        if finish == "error":
            yield {"error": BROKEN["message"]}
        elif finish:
            if self.calls:
                yield self._take_calls()
            self.last = {"message": {"role": "assistant", "content": ""}, "done": True, "done_reason": finish}
        else:
            yield {"message": ollama_message({**delta, "tool_calls": None}), "done": False}

    def _take_calls(self) -> dict[str, Any]:
        calls, self.calls = list(self.calls.values()), {}
        return {"message": ollama_message({"tool_calls": calls}), "done": False}

    def end(self, *, is_marked: bool) -> bytes:
        return b"" if self.last is None else json.dumps(self.last | self.usage).encode() + b"\n"


DIALECTS = {"openai": OpenAI, "litellm": OpenAI, "anthropic": Anthropic, "ollama": Ollama}
