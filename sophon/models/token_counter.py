"""Token counter: counts with a tokenizer if one is loaded, otherwise estimates; calibrated per model.

Stored messages are counted, and serialised for their provider, in a worker thread before a turn needs them. Both are
cached on the message. A thread that runs Python code holds up the event loop, which waits for the interpreter's lock;
the work is therefore divided into pieces, between which the loop runs. A model takes part with an optional method
`prepare_message(message)`, which is called in the thread.
"""

import hashlib
import importlib.util
import math
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any

import anyio.to_thread
import orjson

from sophon.clock import Clock
from sophon.messages import Message, ToolCall
from sophon.models.model import ModelRequest, ModelResponse
from sophon.tools.tool import Tool

MESSAGE_OVERHEAD = 4
"""Tokens added per message for its role and delimiters."""
TOOL_CALL_OVERHEAD = 8
"""Tokens added per tool call or tool definition for its id and delimiters."""
ESTIMATE_NAME = "estimate"
"""Name of the counter while no tokenizer is loaded."""
ENCODING_NAME = "cl100k_base"
"""Name of the counter, and of the tiktoken encoding, once the tokenizer is loaded."""
MAX_ENCODED_CHARACTERS = 16_384
"""Of a longer text only the head is encoded and the rest extrapolated, because encoding blocks the event loop."""
MAX_CACHED_TOOLS = 4096
"""Tools whose token count is cached; the cache is cleared when it is full."""
MAX_CACHED_TOOL_SETS = 256
"""Tuples of tools whose total is cached; the cache is cleared when it is full."""

_SMOOTHING = 0.15
_MIN_FACTOR, _MAX_FACTOR = 0.5, 3.0
_MIN_RATIO, _MAX_RATIO = 0.25, 4.0
_MIN_ESTIMATE = 64
_ENCODING_URL = "https://openaipublic.blob.core.windows.net/encodings/cl100k_base.tiktoken"

PIECE_CHARACTERS = 96 * 1024
"""Characters of a piece: about 10 ms in the tokenizer, which releases the lock, and 0.5 ms that hold it."""
PIECE_MESSAGES = 256
MAX_INLINE_CHARACTERS = 2048
"""Characters that are counted where they are needed, because a thread would cost more: 0.2 ms in the tokenizer."""

PrepareMessage = Callable[[Message], None]


class TokenCounter:
    """Counts tokens of messages, tools, requests and responses.

    Counts are cached on the message and per tool, so that a long history is counted once. Before `warm_up` the count
    is an estimate: one token per 4 ASCII characters, 0.75 per Cyrillic or accented letter, 1.25 per CJK character.
    `update_calibration` calibrates the count per model with the usage that the provider reports. Messages may be
    counted in worker threads.
    """

    __slots__ = ("_factors", "_tool_counts", "_tool_set_counts", "count_text", "load_error", "name")

    def __init__(self) -> None:
        self.name = ESTIMATE_NAME
        self.count_text: Callable[[str], int] = estimate_tokens
        """Function that counts the tokens of a text."""
        self.load_error: str | None = None
        """Why the tokenizer could not be loaded, or None; loading is not retried."""
        self._factors: dict[str, float] = {}
        self._tool_counts: dict[Tool, int] = {}
        self._tool_set_counts: dict[tuple[Tool, ...], int] = {}

    async def warm_up(self) -> bool:
        """Load the tokenizer in a worker thread, from the file that litellm ships, without a download.

        Returns whether the tokenizer is in use; a failure is kept in `load_error`, and the estimate stays in use.
        """
        if self.name == ESTIMATE_NAME and self.load_error is None:
            try:
                self.count_text = await anyio.to_thread.run_sync(_load_tokenizer)
            except Exception as error:  # noqa: BLE001 - the file is optional; the estimate is used instead
                self.load_error = f"{type(error).__name__}: {error}"
            else:
                self.name = ENCODING_NAME
                self._tool_counts.clear()
                self._tool_set_counts.clear()
        return self.name != ESTIMATE_NAME

    def count_message(self, message: Message) -> int:
        """Return the tokens of a message including its tool calls, images and attachments; cached on the message."""
        cached, name = message.tokens, self.name
        if cached is not None and cached[0] is name:
            return cached[1]
        count = MESSAGE_OVERHEAD + self.count_text(message.content)
        for call in message.tool_calls:
            count += self.count_tool_call(call)
        if message.images:
            count += _count_images(message)
        for attachment in message.attachments:
            count += attachment.tokens
        for document in message.documents:
            count += document.tokens
        # The name from before: in a worker thread the tokenizer may be replaced meanwhile.
        object.__setattr__(message, "tokens", (name, count))
        return count

    def count_tool_call(self, call: ToolCall) -> int:
        """Return the tokens of a tool call."""
        return TOOL_CALL_OVERHEAD + self.count_text(call.name) + self.count_text(call.canonical_arguments().decode())

    def count_tool(self, tool: Tool) -> int:
        """Return the tokens of a tool's definition; cached per tool."""
        count = self._tool_counts.get(tool)
        if count is None:
            if len(self._tool_counts) >= MAX_CACHED_TOOLS:
                self._tool_counts.clear()
            definition = orjson.dumps(tool.definition, default=str, option=orjson.OPT_NON_STR_KEYS)
            count = self._tool_counts[tool] = TOOL_CALL_OVERHEAD + self.count_text(definition.decode())
        return count

    def count_tools(self, tools: Sequence[Tool]) -> int:
        """Return the tokens of several tool definitions; for a tuple, which is immutable, the total is cached."""
        if not isinstance(tools, tuple):
            return sum(map(self.count_tool, tools))
        count = self._tool_set_counts.get(tools)
        if count is None:
            if len(self._tool_set_counts) >= MAX_CACHED_TOOL_SETS:
                self._tool_set_counts.clear()
            count = self._tool_set_counts[tools] = sum(map(self.count_tool, tools))
        return count

    def count_request(self, request: ModelRequest) -> int:
        """Return the uncalibrated tokens of the messages, plus the tools if the model supports function calling."""
        name, count = self.name, 0
        for message in request.messages:
            cached = message.tokens
            count += cached[1] if cached is not None and cached[0] is name else self.count_message(message)
        if request.model.function_calling:
            count += self.count_tools(request.tools)
        return count

    def count_response(self, response: ModelResponse) -> int:
        """Return the tokens of a response: its text, reasoning and tool calls."""
        texts = self.count_text(response.text) + self.count_text(response.reasoning)
        return texts + sum(self.count_tool_call(call) for call in response.tool_calls)

    def calibrate(self, tokens: int, model_id: str) -> int:
        """Return the count multiplied by the model's calibration factor, rounded up."""
        factor = self._factors.get(model_id)
        return tokens if factor is None else math.ceil(tokens * factor)

    def update_calibration(self, model_id: str, estimated: int, reported: int) -> None:
        """Move the model's calibration factor towards reported / estimated: smoothing 0.15, range 0.5 to 3.

        `estimated` is the count before calibration. Estimates below 64 tokens and ratios outside 0.25 to 4 are
        ignored: they come from images or prompts added by the provider, not from the tokenizer.
        """
        if estimated < _MIN_ESTIMATE or not _MIN_RATIO <= reported / estimated <= _MAX_RATIO:
            return
        factor = self._factors.get(model_id, 1.0)
        updated = factor + _SMOOTHING * (reported / estimated - factor)
        self._factors[model_id] = min(_MAX_FACTOR, max(_MIN_FACTOR, updated))


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text: one per 4 characters, plus half a token per further UTF-8 byte of a character."""
    length = len(text)
    if text.isascii():
        return (length + 3) // 4
    extra = len(text.encode("utf-8", "surrogatepass")) - length
    return (length + 2 * extra + 3) // 4


def _count_images(message: Message) -> int:
    from sophon.images import count_image_tokens  # lazy: few messages have images

    return sum(map(count_image_tokens, message.images))


_load_lock = threading.Lock()


def _load_tokenizer() -> Callable[[str], int]:
    """Return the tokenizer, which all counters of the process share; the first call loads it."""
    with _load_lock:
        return _read_tokenizer()


@cache
def _read_tokenizer() -> Callable[[str], int]:
    folder = _bundled_tokenizer_folder()
    # tiktoken takes the folder of its files from this variable only; litellm sets the same one when it is imported.
    os.environ["TIKTOKEN_CACHE_DIR"] = str(folder)
    # Lazy: heavy, and only hosts with real providers need it.
    import tiktoken
    from tiktoken.registry import ENCODINGS

    encoding = ENCODINGS.get(ENCODING_NAME)
    if encoding is None:
        # The module has no type information.
        definition: dict[str, Any] = import_module("tiktoken_ext.openai_public").cl100k_base()
        # Registered, so that litellm uses this one too.
        encoding = ENCODINGS[ENCODING_NAME] = tiktoken.Encoding(**definition)
        # The compiled code has a copy of the vocabulary. The one in Python, 15 MB, is used for pickling an encoding
        # that is not registered, and for nothing else.
        definition["mergeable_ranks"].clear()

    def count(text: str) -> int:
        length = len(text)
        if length <= MAX_ENCODED_CHARACTERS:
            return len(encoding.encode_ordinary(text))
        return math.ceil(len(encoding.encode_ordinary(text[:MAX_ENCODED_CHARACTERS])) * length / MAX_ENCODED_CHARACTERS)

    return count


def _bundled_tokenizer_folder() -> Path:
    """Return litellm's tokenizer folder without importing litellm, which takes seconds. Raises FileNotFoundError."""
    spec = importlib.util.find_spec("litellm")
    if spec is None or not spec.submodule_search_locations:
        raise FileNotFoundError("litellm is not installed")
    folder = Path(spec.submodule_search_locations[0], "litellm_core_utils", "tokenizers")
    name = hashlib.sha1(_ENCODING_URL.encode(), usedforsecurity=False).hexdigest()
    if not (folder / name).is_file():
        raise FileNotFoundError(f"litellm does not ship the {ENCODING_NAME} file ({folder / name})")
    return folder


async def prepare_messages(
    messages: Sequence[Message], tokens: TokenCounter, prepare: Sequence[PrepareMessage], clock: Clock
) -> int:
    """Count and serialise messages in a worker thread; return their tokens together."""
    total = 0
    for piece in split_into_pieces(messages):
        total += await clock.run_in_thread(partial(_prepare_piece, piece, tokens, prepare))
    return total


def is_worth_a_thread(messages: Sequence[Message], start: int) -> bool:
    """Return whether the messages from `start` on are too long to be counted where they are needed."""
    characters = 0
    for index in range(start, len(messages)):
        characters += _count_characters(messages[index])
        if characters > MAX_INLINE_CHARACTERS:
            return True
    return False


def split_into_pieces(messages: Sequence[Message]) -> Iterator[Sequence[Message]]:
    """Yield consecutive slices of `PIECE_CHARACTERS` and `PIECE_MESSAGES` at most, each of one message at least."""
    first, characters = 0, 0
    for index, message in enumerate(messages):
        length = _count_characters(message)
        if index > first and (characters + length > PIECE_CHARACTERS or index - first == PIECE_MESSAGES):
            yield messages[first:index]
            first, characters = index, 0
        characters += length
    if first < len(messages):
        yield messages[first:]


def _count_characters(message: Message) -> int:
    # 16: a message is work, however short it is.
    return 16 + len(message.content) + sum(len(call.canonical_arguments()) for call in message.tool_calls)


def _prepare_piece(messages: Sequence[Message], tokens: TokenCounter, prepare: Sequence[PrepareMessage]) -> int:
    total = 0
    for message in messages:
        for function in prepare:
            function(message)
        total += tokens.count_message(message)  # releases the lock, so that it is never held for long
    return total
