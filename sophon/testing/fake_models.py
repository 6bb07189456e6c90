"""Fake models for tests: an async function, or a script of responses."""

import inspect
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from typing import Self, TypeAlias

from sophon.errors import CompositionError
from sophon.messages import ToolCall
from sophon.models.model import DEFAULT_CONTEXT_WINDOW, ModelInfo, ModelRequest, ModelResponse
from sophon.models.model_fact_checks import CAPABILITIES_REMEDY, are_capabilities

ModelAnswer: TypeAlias = str | ModelResponse
ScriptStep: TypeAlias = str | Sequence[ToolCall] | ModelResponse | BaseException


class FunctionModel:
    """Model implemented by an async function of the request, which returns a text or a ModelResponse.

    `stream` delivers reasoning and text in pieces if the request has `on_reasoning` and `on_text`: True by words, a
    number by so many characters. `prices` are (input, output) in USD per million tokens. `requests` holds every
    request, in order.
    """

    def __init__(
        self,
        function: Callable[[ModelRequest], Awaitable[ModelAnswer]],
        *,
        name: str = "function",
        context_window: int = DEFAULT_CONTEXT_WINDOW,
        function_calling: bool = True,
        capabilities: Collection[str] = (),
        prices: tuple[float, float] | None = None,
        stream: bool | int = False,
    ) -> None:
        if not isinstance(stream, int) or stream < 0:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise CompositionError(
                f"model {name!r:.60}: stream is {stream!r:.60}; write True or a number of characters"
            )
        if not are_capabilities(capabilities):
            raise CompositionError(f"model {name!r:.60}: capabilities is {capabilities!r:.60}; {CAPABILITIES_REMEDY}")
        self._function = function
        self._stream = stream
        self.requests: list[ModelRequest] = []
        self.info = ModelInfo(
            name=name,
            provider=name,
            context_window=context_window,
            function_calling=function_calling,
            streaming=bool(stream),
            capabilities=frozenset(capabilities),
            prices=prices,
        )

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """Call the function and stream its text if requested."""
        self.requests.append(request)
        answered = self._function(request)
        if not inspect.isawaitable(answered):
            raise TypeError("the function of FunctionModel is not async: write `async def`")
        answer = await answered
        response = ModelResponse(answer) if isinstance(answer, str) else answer
        if self._stream and request.on_reasoning is not None:
            for piece in split_text(response.reasoning, self._stream):
                request.on_reasoning(piece)
        if self._stream and request.on_text is not None:
            for piece in split_text(response.text, self._stream):
                request.on_text(piece)
        return response


class ScriptedModel:
    """Model that plays a script, one step per call: a text, a list of ToolCall, a ModelResponse, or an exception.

    An additional call raises AssertionError, and so does `close()` (or leaving `with`) when steps are unused.
    """

    def __init__(
        self,
        script: Sequence[ScriptStep],
        *,
        name: str = "scripted",
        context_window: int = DEFAULT_CONTEXT_WINDOW,
        function_calling: bool = True,
        capabilities: Collection[str] = (),
        prices: tuple[float, float] | None = None,
        stream: bool | int = False,
    ) -> None:
        if isinstance(script, str) or not isinstance(script, Sequence):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"ScriptedModel takes a list of steps, not {script!r:.60}: write ScriptedModel([...])")
        self._script = list(script)
        self._position = 0
        self._model = FunctionModel(
            self._next_step,
            name=name,
            context_window=context_window,
            function_calling=function_calling,
            capabilities=capabilities,
            prices=prices,
            stream=stream,
        )
        self.info = self._model.info
        self.requests = self._model.requests

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """Return or raise the next step."""
        return await self._model.complete(request)

    async def _next_step(self, request: ModelRequest) -> ModelAnswer:
        if self._position == len(self._script):
            raise AssertionError(f"the script of {self.info.name!r} has {len(self._script)} steps; this is a call more")
        step = self._script[self._position]
        self._position += 1
        if isinstance(step, BaseException):
            raise step
        if isinstance(step, str | ModelResponse):
            return step
        calls: Sequence[ToolCall] = step
        if not isinstance(calls, Sequence):  # pyright: ignore[reportUnnecessaryIsInstance] - of callers without types
            raise TypeError(
                f"step {self._position} of the script is {step!r:.60}; a call stands in a list: [ToolCall(...)]"
            )
        return ModelResponse(tool_calls=list(calls))

    def close(self) -> None:
        """Raise AssertionError if steps are unused."""
        left = len(self._script) - self._position
        assert left == 0, f"the script of {self.info.name!r} has {left} of {len(self._script)} steps left over"

    async def aclose(self) -> None:
        """Call `close`; used when services close."""
        self.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        if kind is None:
            self.close()


def split_text(text: str, size: bool | int) -> Iterable[str]:
    """Split a text: True by words, each with its trailing space; a number by so many characters."""
    if size is True:
        start = 0
        for index, character in enumerate(text):
            if character == " ":
                yield text[start : index + 1]
                start = index + 1
        if start < len(text):
            yield text[start:]
        return
    for start in range(0, len(text), int(size)):
        yield text[start : start + int(size)]
