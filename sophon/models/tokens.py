"""How many tokens a request takes: counted with a tokenizer where one is loaded, estimated otherwise."""

import hashlib
import importlib.util
import math
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import anyio.to_thread
import orjson

from sophon.messages import Message, ToolCall
from sophon.models.model import ModelRequest, ModelResponse
from sophon.tools.tool import Tool

MESSAGE_OVERHEAD = 4
"""Tokens that the role and the borders of a message take."""
CALL_OVERHEAD = 8
"""Tokens that the id and the borders of a tool call, or of a tool's definition, take."""
ESTIMATE = "estimate"
ENCODING = "cl100k_base"
EXACT_CHARACTERS = 16_384
"""Of a longer text only the head is encoded and the rest extrapolated: encoding runs on the event loop."""
KNOWN_TOOLS = 4096
KNOWN_OFFERS = 256

_SMOOTHING = 0.15
_LEAST_FACTOR, _MOST_FACTOR = 0.5, 3.0
_LEAST_RATIO, _MOST_RATIO = 0.25, 4.0
_LEAST_ESTIMATE = 64
_ENCODING_URL = "https://openaipublic.blob.core.windows.net/encodings/cl100k_base.tiktoken"


class TokenCounter:
    """Counts are kept with the message, and with the tool, so that a long history is counted once.

    Before `warm_up` the count is an estimate: a token per 4 characters of ASCII, 0.75 per Cyrillic or accented
    letter, 1.25 per CJK character. `learn` calibrates it per model with what the provider reports.
    """

    __slots__ = ("_factors", "_offers", "_tools", "failure", "name", "text")

    def __init__(self) -> None:
        self.name = ESTIMATE
        self.text: Callable[[str], int] = estimate
        """Tokens of a bare text."""
        self.failure: str | None = None
        """Why the tokenizer could not be loaded; it is not tried again."""
        self._factors: dict[str, float] = {}
        self._tools: dict[Tool, int] = {}
        self._offers: dict[tuple[Tool, ...], int] = {}

    async def warm_up(self) -> bool:
        """Load the tokenizer in a worker thread, from the file that litellm ships, without a download.

        True if it is in use; a failure is remembered and leaves the estimate in place.
        """
        if self.name == ESTIMATE and self.failure is None:
            try:
                self.text = await anyio.to_thread.run_sync(_load_tokenizer)
            except Exception as error:  # noqa: BLE001 - whatever is wrong with an optional file, the estimate serves
                self.failure = f"{type(error).__name__}: {error}"
            else:
                self.name = ENCODING
                self._tools.clear()
                self._offers.clear()
        return self.name != ESTIMATE

    def message(self, message: Message) -> int:
        """Tokens of a message with its tool calls."""
        cached = message.tokens
        if cached is not None and cached[0] is self.name:
            return cached[1]
        count = MESSAGE_OVERHEAD + self.text(message.content)
        for call in message.tool_calls:
            count += self.call(call)
        object.__setattr__(message, "tokens", (self.name, count))
        return count

    def call(self, call: ToolCall) -> int:
        """Tokens of a tool call."""
        return CALL_OVERHEAD + self.text(call.name) + self.text(call.canonical().decode())

    def tool(self, tool: Tool) -> int:
        """Tokens of a tool's definition."""
        count = self._tools.get(tool)
        if count is None:
            if len(self._tools) >= KNOWN_TOOLS:
                self._tools.clear()
            definition = orjson.dumps(tool.definition, default=str, option=orjson.OPT_NON_STR_KEYS)
            count = self._tools[tool] = CALL_OVERHEAD + self.text(definition.decode())
        return count

    def tools(self, tools: Sequence[Tool]) -> int:
        """Tokens of the definitions of several tools; those of a tuple are added up once, for it cannot change."""
        if not isinstance(tools, tuple):
            return sum(map(self.tool, tools))
        count = self._offers.get(tools)
        if count is None:
            if len(self._offers) >= KNOWN_OFFERS:
                self._offers.clear()
            count = self._offers[tools] = sum(map(self.tool, tools))
        return count

    def request(self, request: ModelRequest) -> int:
        """Tokens of the messages, and of the tools where the model takes them as such; not calibrated."""
        name, count = self.name, 0
        for message in request.messages:
            cached = message.tokens
            count += cached[1] if cached is not None and cached[0] is name else self.message(message)
        if request.model.function_calling:
            count += self.tools(request.tools)
        return count

    def response(self, response: ModelResponse) -> int:
        """Tokens that the model wrote."""
        return self.text(response.text) + sum(self.call(call) for call in response.tool_calls)

    def calibrated(self, tokens: int, model_id: str) -> int:
        """The count as that model's provider would give it, as far as it is known."""
        factor = self._factors.get(model_id)
        return tokens if factor is None else math.ceil(tokens * factor)

    def learn(self, model_id: str, estimated: int, reported: int) -> None:
        """Move the model's factor towards reported / estimated: exponentially smoothed by 0.15, within 0.5 and 3.

        A very small request, or a ratio beyond 4, is no matter of tokenizers (images, a prompt added by the provider)
        and teaches nothing. `estimated` is the count before calibration.
        """
        if estimated < _LEAST_ESTIMATE or not _LEAST_RATIO <= reported / estimated <= _MOST_RATIO:
            return
        factor = self._factors.get(model_id, 1.0)
        moved = factor + _SMOOTHING * (reported / estimated - factor)
        self._factors[model_id] = min(_MOST_FACTOR, max(_LEAST_FACTOR, moved))


def estimate(text: str) -> int:
    """A token per 4 characters, and half a token for every byte beyond the first of a character (UTF-8)."""
    length = len(text)
    if text.isascii():
        return (length + 3) // 4
    extra = len(text.encode("utf-8", "surrogatepass")) - length
    return (length + 2 * extra + 3) // 4


def _load_tokenizer() -> Callable[[str], int]:
    folder = _bundled_folder()
    # tiktoken has no other way to be told where its files are; litellm sets the same variable when it is imported.
    os.environ["TIKTOKEN_CACHE_DIR"] = str(folder)
    import tiktoken  # heavy, and only hosts with real providers need it

    encoding = tiktoken.get_encoding(ENCODING)

    def count(text: str) -> int:
        length = len(text)
        if length <= EXACT_CHARACTERS:
            return len(encoding.encode_ordinary(text))
        return math.ceil(len(encoding.encode_ordinary(text[:EXACT_CHARACTERS])) * length / EXACT_CHARACTERS)

    return count


def _bundled_folder() -> Path:
    """Where litellm keeps the file; found without importing litellm, which takes seconds."""
    spec = importlib.util.find_spec("litellm")
    if spec is None or not spec.submodule_search_locations:
        raise FileNotFoundError("litellm is not installed")
    folder = Path(spec.submodule_search_locations[0], "litellm_core_utils", "tokenizers")
    name = hashlib.sha1(_ENCODING_URL.encode(), usedforsecurity=False).hexdigest()
    if not (folder / name).is_file():
        raise FileNotFoundError(f"litellm ships no {ENCODING} file ({folder / name})")
    return folder
