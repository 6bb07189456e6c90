"""One attempt: the meter is asked, the model answers or not, and what became of it is recorded."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple, NoReturn

from sophon.errors import AuthenticationFailed, ModelError, RateLimited
from sophon.events import Emit, ModelAttempt
from sophon.messages import Usage
from sophon.models.books import Books
from sophon.models.classification import classify
from sophon.models.equipment import Equipment
from sophon.models.keys import KeyRing
from sophon.models.listening import Audience, Ear
from sophon.models.model import Meter, ModelInfo, ModelRequest, ModelResponse
from sophon.models.provider import Candidate


class Attempt(NamedTuple):
    """What stands in the record of a call for each attempt; `outcome` is `ok`, `cancelled` or the code of the error."""

    model: str
    outcome: str
    duration_ms: int
    detail: str = ""


@dataclass(slots=True)
class Oversight:
    """Who watches over one call of the gateway, all its attempts included."""

    meter: Meter | None = None
    emit: Emit | None = None
    check: Callable[[], None] | None = None
    audience: Audience | None = None

    @property
    def heard(self) -> bool:
        """Text has reached the caller: nothing is repeated any more."""
        return self.audience is not None and self.audience.heard


class Attempts:
    """Makes the attempts of one call and keeps their record.

    Whatever the outcome, nothing stays reserved: success settles with the usage reported (estimated if there is none),
    failure releases, or charges what was said if the model had begun to speak, cancellation charges the input.
    """

    __slots__ = ("_equipment", "_watch", "records")

    def __init__(self, equipment: Equipment, watch: Oversight) -> None:
        self._equipment = equipment
        self._watch = watch
        self.records: list[Attempt] = []

    async def make(self, candidate: Candidate, request: ModelRequest, key: str | None) -> ModelResponse:
        """Ask once. Raises what the provider raised as a ModelError, and BudgetExceeded of the meter as it is."""
        watch = self._watch
        if watch.check is not None:
            watch.check()
        books = self._open(request, key)
        if watch.meter is not None:
            await books.reserve(watch.meter)
        candidate.provider.attempts += 1
        try:
            if self._equipment.options.timeout_seconds is None:
                response = await candidate.model.complete(books.request)
            else:
                response = await self._ask_in_time(candidate, books.request)
            if not isinstance(response, ModelResponse):  # pyright: ignore[reportUnnecessaryIsInstance] - a foreign model
                _no_response(response)
        except asyncio.CancelledError:
            self._record(books, "cancelled", await books.charge())
            raise
        except Exception as error:
            failure = self._failure(candidate, error, books.ear)
            await self._failed(candidate, books, failure)
            if failure is error:
                raise
            raise failure from error
        return await self._answered(candidate, books, response)

    def _open(self, request: ModelRequest, key: str | None) -> Books:
        ear = None
        if request.on_text is not None:
            ear = Ear(request.on_text, self._watch.check)
            request = request.with_(on_text=ear, key=key)
        elif request.key != key:
            # A copy: whoever kept the request of an earlier attempt goes on seeing the key of that attempt.
            request = request.with_(key=key)
        equipment = self._equipment
        return Books(request, ear, equipment.clock.monotonic(), equipment.tokens, self._watch.meter)

    async def _ask_in_time(self, candidate: Candidate, request: ModelRequest) -> ModelResponse:
        async with self._equipment.clock.timeout(self._equipment.options.timeout_seconds):
            return await candidate.model.complete(request)

    async def _answered(self, candidate: Candidate, books: Books, response: ModelResponse) -> ModelResponse:
        request, ear, keys = books.request, books.ear, candidate.provider.keys
        usage = await books.settle(response)
        if keys is not None and request.key is not None:
            keys.warm(request.key, request.model.name)
        self._record(books, "ok", usage)
        if ear is not None and not ear.pieces:
            # A model that cannot stream, or did not: its text is heard all the same, in one piece.
            ear(response.text)
        # A new object: the model may give the same one again.
        return ModelResponse(response.text, response.tool_calls, usage, finish_of(response), request.model)

    def _failure(self, candidate: Candidate, error: Exception, ear: Ear | None) -> Exception:
        """The error as one of ours; a test's failed assertion and what a listener raised stay what they are."""
        failure = error
        if not isinstance(error, AssertionError) and (ear is None or ear.failure is not error):
            failure = classify(error, candidate.provider.id, candidate.info.name, now=self._equipment.clock.now())
        if isinstance(failure, ModelError):
            failure.visible = self._watch.heard
        return failure

    async def _failed(self, candidate: Candidate, books: Books, failure: Exception) -> None:
        provider, key = candidate.provider, books.request.key
        code = str(getattr(failure, "code", type(failure).__name__))
        provider.failures += 1
        provider.last_error = code
        if key is not None and provider.keys is not None:
            penalise(provider.keys, key, candidate.info, failure, self._equipment.options.cool_seconds)
        spoke = books.ear is not None and books.ear.pieces
        usage = await (books.charge() if spoke else books.release())
        self._record(books, code, usage, str(failure))

    def _record(self, books: Books, outcome: str, usage: Usage, detail: str = "") -> None:
        duration = round((self._equipment.clock.monotonic() - books.started) * 1000)
        model, purpose = books.request.model.id, books.request.purpose
        self.records.append(Attempt(model, outcome, duration, detail))
        if self._watch.emit is not None:
            self._watch.emit(
                ModelAttempt(
                    purpose=purpose, model=model, outcome=outcome, duration_ms=duration, usage=usage, detail=detail
                )
            )


def finish_of(response: ModelResponse) -> Literal["stop", "tool_calls", "length"]:
    """`tool_calls` exactly when there are any: providers disagree."""
    if response.tool_calls:
        return "tool_calls"
    return "stop" if response.finish_reason == "tool_calls" else response.finish_reason


def penalise(keys: KeyRing, key: str, model: ModelInfo, failure: Exception, cool_seconds: float) -> None:
    """What a failure means for the key it was made with: 429 lets it rest, for this model; 401 and 403 disable it.

    Overload says nothing of a key.
    """
    if isinstance(failure, AuthenticationFailed):
        keys.disable(key)
    elif isinstance(failure, RateLimited):
        asked = failure.retry_after
        keys.cool(key, cool_seconds if asked is None else asked, model.name, asked=asked is not None)


def _no_response(answer: object) -> NoReturn:
    raise TypeError(f"the model gave {answer!r:.80}, which is no ModelResponse")
