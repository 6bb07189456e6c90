"""The one door to models: every call goes through it, so that failover, metering and tracing exist once."""

from collections.abc import Callable, Sequence
from difflib import get_close_matches

from sophon.clock import Clock
from sophon.errors import BudgetExceeded, MessageTooLarge, ModelError, NotFound, SophonError
from sophon.events import AgentStatus, Emit
from sophon.messages import Usage
from sophon.models.asking import Asking
from sophon.models.attempt import Attempts, Oversight, finish_of
from sophon.models.backoff import Backoff
from sophon.models.equipment import Equipment
from sophon.models.failover import TABLE, State, event_of, verdict
from sophon.models.listening import Audience
from sophon.models.model import LAYERED, Call, CallLayer, Meter, Model, ModelInfo, ModelRequest, ModelResponse
from sophon.models.options import GatewayOptions
from sophon.models.provider import Candidate, Provider, ProviderStatistics
from sophon.models.tokens import TokenCounter


class ModelGateway:
    """Asks candidates in order until one answers.

    Inside: candidates (failover.py), around each of them the call layers, inside these the retries and keys of one
    model (asking.py, retries.py), and each attempt with its meter and its record (attempt.py).
    """

    __slots__ = ("_by_name", "_defaults", "_equipment", "providers", "tokens")

    def __init__(
        self,
        providers: Sequence[Provider],
        *,
        clock: Clock,
        tokens: TokenCounter | None = None,
        options: GatewayOptions | None = None,
    ) -> None:
        self.providers = tuple(sorted(providers, key=lambda provider: provider.priority))
        self.tokens = tokens or TokenCounter()
        chosen = options or GatewayOptions()
        self._equipment = Equipment(clock, self.tokens, chosen, Backoff(clock, chosen))
        self._defaults = [Candidate(provider, provider.models[0]) for provider in self.providers]
        self._by_name = _index(self.providers)

    def candidates(self) -> list[Candidate]:
        """The first model of every provider that can be asked now, by priority, then in the order given."""
        now = self._equipment.clock.monotonic()
        return [candidate for candidate in self._defaults if candidate.provider.health(now) == "active"]

    def find(self, name: str) -> Candidate:
        """A model by `provider/model`, by its own name, or a provider's first model by the provider's id.

        A benched provider is found too: who names a model wants it. Raises NotFound, with near names.
        """
        for candidate in self._by_name.get(name, ()):
            if candidate.provider.active:
                return candidate
        active = [known for known, found in self._by_name.items() if any(c.provider.active for c in found)]
        raise NotFound("model", name, get_close_matches(name, active, n=3, cutoff=0.5))

    async def call(
        self,
        request: ModelRequest,
        candidates: Sequence[Candidate],
        *,
        layers: Sequence[CallLayer] = (),
        meter: Meter | None = None,
        emit: Emit | None = None,
        check: Callable[[], None] | None = None,
    ) -> ModelResponse:
        """Ask until one answers; the request belongs to the gateway from here on.

        `check` is called before every attempt and every chunk and may raise to stop. Raises ModelError (`attempts`
        holds the record, `visible` whether text had been shown), BudgetExceeded when every candidate was over its
        budget, MessageTooLarge when no candidate had the room, NoProvider when there is none. AssertionError,
        cancellation and what layers or listeners raise pass untouched.
        """
        watch = Oversight(meter, emit, check)
        if request.on_text is not None:
            watch.audience = Audience(request.on_text)
            request = request.with_(on_text=watch.audience)
        if request.purpose not in LAYERED:
            layers = ()
        attempts = Attempts(self._equipment, watch)
        asked = candidates if len(candidates) == 1 else self._askable(candidates)
        errors: list[SophonError] = []
        for position, candidate in enumerate(asked):
            last = position + 1 == len(asked)
            ask: Call = Asking(candidate, last, attempts, self._equipment, emit)
            for layer in reversed(layers):
                ask = _around(layer, ask)
            try:
                response = await ask(_addressed(request, candidate.info, first=position == 0))
            except (ModelError, BudgetExceeded, MessageTooLarge) as error:
                errors.append(error)
                if TABLE[State.CALLING, event_of(error, watch.heard)] is State.ABORTED:
                    break
                if emit is not None and not last:
                    _tell(emit, candidate, error, asked[position + 1])
            else:
                return _concluded(response, candidate, watch.audience)
        raise _recorded(verdict(errors, watch.heard), attempts)

    async def warm_up(self) -> None:
        """Load what the first call would otherwise wait for: the models' clients, and the tokenizer for their counts.

        Nothing is loaded for models that have nothing to load.
        """
        loaders = [load for model in self._models() if (load := getattr(model, "warm_up", None)) is not None]
        if loaders:
            await self.tokens.warm_up()
        for load in loaders:
            await load()

    async def aclose(self) -> None:
        """Close every model that can be closed, all of them even if one fails; the first failure is raised."""
        failures: list[Exception] = []
        for model in self._models():
            close = getattr(model, "aclose", None)
            if close is None:
                continue
            try:
                await close()
            except Exception as error:  # noqa: BLE001 - raised below, once the others are closed
                failures.append(error)
        if failures:
            raise failures[0]

    def _models(self) -> list[Model]:
        # Each once, by identity: a model need not be hashable.
        return list({id(model): model for provider in self.providers for model in provider.models}.values())

    def statistics(self) -> list[ProviderStatistics]:
        """One line per provider, in the order in which they are asked."""
        now = self._equipment.clock.monotonic()
        return [provider.statistics(now) for provider in self.providers]

    def _askable(self, candidates: Sequence[Candidate]) -> Sequence[Candidate]:
        """A benched provider is passed over, unless there is no other: its breaker may have opened in mid-turn."""
        now = self._equipment.clock.monotonic()
        return [candidate for candidate in candidates if candidate.provider.breaker.allows(now)] or candidates


def _index(providers: Sequence[Provider]) -> dict[str, list[Candidate]]:
    index: dict[str, list[Candidate]] = {}
    every = [Candidate(provider, model) for provider in providers for model in provider.models]
    for candidate in every:
        index.setdefault(f"{candidate.provider.id}/{candidate.info.name}", []).append(candidate)
    for candidate in every:
        index.setdefault(candidate.info.name, []).append(candidate)
    for candidate in every:
        index.setdefault(candidate.provider.id, []).append(candidate)
    return index


def _around(layer: CallLayer, ask: Call) -> Call:
    return lambda request: layer(request, ask)


def _addressed(request: ModelRequest, info: ModelInfo, *, first: bool) -> ModelRequest:
    """The request for one candidate: the gateway's own for the first, a copy for each further one."""
    if not first:
        return request.with_(model=info, key=None)
    if request.model is not info:
        request.model = info
    return request


def _concluded(response: ModelResponse, candidate: Candidate, audience: Audience | None) -> ModelResponse:
    """What layers may have left open: who answered, at what cost, how it ended, and that the caller heard the text."""
    if response.model is None:
        response.model = candidate.info
    if response.usage is None:
        response.usage = Usage()
    response.finish_reason = finish_of(response)
    if audience is not None and not audience.heard:
        audience(response.text)
    return response


def _recorded(error: SophonError, attempts: Attempts) -> SophonError:
    if isinstance(error, ModelError):
        error.attempts = list(attempts.records)
    return error


def _tell(emit: Emit, candidate: Candidate, error: SophonError, following: Candidate) -> None:
    detail = f"{candidate.info.id} failed ({error.code}); asking {following.info.id}"
    emit(AgentStatus(status="retrying", detail=detail))
