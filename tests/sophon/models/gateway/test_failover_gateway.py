import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from sophon.errors import (
    AuthenticationFailed,
    BadRequest,
    BudgetExceeded,
    ContextOverflow,
    ModelError,
    ModelTimeout,
    NoProvider,
    NotFound,
    Overloaded,
    ProviderUnavailable,
    RateLimited,
)
from sophon.events import AgentStatus, ModelAttempt
from sophon.messages import Message, ToolCall, Usage
from sophon.models.gateway.api_keys import ApiKeyPool
from sophon.models.gateway.failover_gateway import ModelGateway
from sophon.models.gateway.options import GatewayOptions
from sophon.models.gateway.provider import Provider
from sophon.models.model import Call, CallLayer, ModelInfo, ModelRequest, ModelResponse, Purpose
from sophon.testing import EventRecorder, FunctionModel, ScriptedModel, VirtualClock


class Failure(Exception):
    def __init__(self, status_code: int, retry_after: float | None = None, text: str = "it failed") -> None:
        super().__init__(text)
        self.status_code = status_code
        self.retry_after = retry_after


class Ledger:
    """A meter that keeps what it was told; `allow` says how many reservations it grants, by model."""

    def __init__(self, **allow: int) -> None:
        self.allow = allow
        self.open: dict[int, int] = {}
        self.settled: list[Usage] = []
        self.released = 0
        self.asked: list[tuple[str, int]] = []

    async def reserve(self, request: ModelRequest, input_tokens: int) -> int:
        self.asked.append((request.model.name, input_tokens))
        left = self.allow.get(request.model.name, 100)
        if left == 0:
            raise BudgetExceeded("DailyTokens", 1, 1, provider=request.model.provider)
        self.allow[request.model.name] = left - 1
        number = len(self.asked)
        self.open[number] = input_tokens
        return number

    async def settle(self, reservation: int, request: ModelRequest, usage: Usage) -> None:
        # Waiting here shows whether a cancelled scope is kept out.
        await asyncio.sleep(0)
        del self.open[reservation]
        self.settled.append(usage)

    async def release(self, reservation: int) -> None:
        await asyncio.sleep(0)
        del self.open[reservation]
        self.released += 1

    def tool_call(self) -> None:
        raise AssertionError("no tool runs here")


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


def scripted(name: str, *steps: object, **options: object) -> ScriptedModel:
    return ScriptedModel(steps, name=name, **options)  # type: ignore[arg-type]


def door(clock: VirtualClock, *models: ScriptedModel | FunctionModel, **options: float | None) -> ModelGateway:
    providers = [Provider(model.info.name, [model]) for model in models]
    return ModelGateway(providers, clock=clock, options=GatewayOptions(**options))  # type: ignore[arg-type]


def ask(
    gateway: ModelGateway, purpose: Purpose = "reply", on_text: Callable[[str], None] | None = None
) -> ModelRequest:
    return ModelRequest(
        [Message("user", "Good morning")], [], gateway.providers[0].models[0].info, purpose, on_text=on_text
    )


async def test_the_first_candidate_answers(clock: VirtualClock) -> None:
    gateway = door(clock, scripted("a", "hello"), scripted("b"))
    response = await gateway.call(ask(gateway), gateway.candidates())
    assert (response.text, response.finish_reason) == ("hello", "stop")
    assert response.model is not None
    assert response.model.id == "a/a"


@pytest.mark.parametrize(
    ("purpose", "limits"), [("evaluation", [4500, 500]), ("title", [4500, 500]), ("reply", [500, 500])]
)
async def test_a_short_answer_of_a_model_that_reasons_has_room_for_it(
    clock: VirtualClock, purpose: Purpose, limits: list[int]
) -> None:
    thinker = scripted("thinker", Failure(401), capabilities=("reasoning",))
    other = scripted("other", "yes")
    gateway = door(clock, thinker, other)
    request = ModelRequest([Message("user", "hi")], (), thinker.info, purpose, max_tokens=500)
    await gateway.call(request, gateway.candidates())
    assert [each.requests[0].max_tokens for each in (thinker, other)] == limits


@pytest.mark.parametrize("error", [Failure(429), Failure(529), Failure(500), Failure(503), OSError()])
async def test_three_retries_with_doubling_waits_then_the_next_candidate(clock: VirtualClock, error: Exception) -> None:
    with scripted("a", *[error] * 4) as first, scripted("b", "from b") as second:
        gateway = door(clock, first, second)
        response = await gateway.call(ask(gateway), gateway.candidates())
    assert response.text == "from b"
    assert clock.slept == [pytest.approx(0.25, rel=0.2), pytest.approx(0.5, rel=0.2), pytest.approx(1, rel=0.2)]


async def test_retry_after_wins_over_the_back_off(clock: VirtualClock) -> None:
    gateway = door(clock, scripted("a", Failure(429, 7), Failure(529, 0.1), "hello"))
    await gateway.call(ask(gateway), gateway.candidates())
    assert clock.slept == [7, 0.1]


async def test_a_long_retry_after_is_waited_for_when_nobody_else_can_be_asked(clock: VirtualClock) -> None:
    gateway = door(clock, scripted("a", Failure(429, 60), "hello"))
    assert (await gateway.call(ask(gateway), gateway.candidates())).text == "hello"
    assert clock.slept == [60]


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (Failure(400), BadRequest),
        (Failure(400, text="maximum context length is 8192"), ContextOverflow),
        (ValueError("no JSON"), ModelError),
    ],
)
async def test_what_asking_again_cannot_cure_leaves_at_once(
    clock: VirtualClock, error: Exception, kind: type[ModelError]
) -> None:
    with scripted("a", error) as first, scripted("b") as second:
        gateway = door(clock, first, second)
        with pytest.raises(kind) as caught:
            await gateway.call(ask(gateway), gateway.candidates())
    assert type(caught.value) is kind
    assert caught.value.__cause__ is error
    assert not caught.value.visible


async def test_when_all_fail_the_last_error_carries_the_record(clock: VirtualClock) -> None:
    gateway = door(clock, scripted("a", Failure(500)), scripted("b", Failure(529)), max_retries=0)
    with pytest.raises(Overloaded) as caught:
        await gateway.call(ask(gateway), gateway.candidates())
    assert [(attempt.model, attempt.outcome) for attempt in caught.value.attempts] == [
        ("a/a", "provider_unavailable"),
        ("b/b", "overloaded"),
    ]


async def test_no_candidates_is_no_provider(clock: VirtualClock) -> None:
    gateway = door(clock, scripted("a"))
    with pytest.raises(NoProvider):
        await gateway.call(ask(gateway), [])


async def test_a_failed_assertion_is_nobodys_network(clock: VirtualClock) -> None:
    gateway, meter = door(clock, scripted("a"), scripted("b")), Ledger()
    with pytest.raises(AssertionError, match="a call more"):
        await gateway.call(ask(gateway), gateway.candidates(), meter=meter)
    assert meter.open == {}


class TestKeys:
    @staticmethod
    def keyed(
        clock: VirtualClock, keys: list[str], answer: Callable[[str | None], str], *, spare: bool = False
    ) -> tuple[ModelGateway, list[str | None]]:
        used: list[str | None] = []

        async def model(request: ModelRequest) -> str:
            used.append(request.key)
            return answer(request.key)

        providers = [Provider("a", [FunctionModel(model, name="m")], keys=ApiKeyPool(keys, clock))]
        if spare:
            providers.append(Provider("b", [scripted("b", *["from b"] * 9)], priority=2))
        return ModelGateway(providers, clock=clock), used

    @staticmethod
    def refuse(**failures: int) -> Callable[[str | None], str]:
        def answer(key: str | None) -> str:
            if key in failures:
                raise Failure(failures[key])
            return f"with {key}"

        return answer

    async def test_a_limited_key_rests_for_a_minute(self, clock: VirtualClock) -> None:
        gateway, used = self.keyed(clock, ["k1", "k2"], self.refuse(k1=429))
        await gateway.call(ask(gateway), gateway.candidates())
        await gateway.call(ask(gateway), gateway.candidates())
        assert used == ["k1", "k2", "k2"]
        keys = gateway.providers[0].keys
        assert keys is not None
        assert keys.statistics().cooling == 1
        await clock.sleep(60)
        assert keys.statistics().cooling == 0

    async def test_a_key_that_is_accepted_again_rests_no_longer(self, clock: VirtualClock) -> None:
        answers = iter([Failure(429), None])

        def answer(key: str | None) -> str:
            if error := next(answers):
                raise error
            return "hello"

        gateway, _ = self.keyed(clock, ["k1"], answer)
        await gateway.call(ask(gateway), gateway.candidates())
        keys = gateway.providers[0].keys
        assert keys is not None
        assert keys.statistics().cooling == 0

    async def test_changes_of_key_use_up_no_retry(self, clock: VirtualClock) -> None:
        gateway, used = self.keyed(clock, ["k1", "k2", "k3"], self.refuse(k1=429, k2=429, k3=429))
        with pytest.raises(RateLimited):
            await gateway.call(ask(gateway), gateway.candidates())
        assert used[:3] == ["k1", "k2", "k3"]
        assert len(clock.slept) == 3
        assert len(used) == 6

    async def test_an_overload_tries_the_next_key_before_it_waits(self, clock: VirtualClock) -> None:
        gateway, used = self.keyed(clock, ["k1", "k2"], self.refuse(k1=529))
        assert (await gateway.call(ask(gateway), gateway.candidates())).text == "with k2"
        assert (used, clock.slept) == (["k1", "k2"], [])
        await gateway.call(ask(gateway), gateway.candidates())
        assert used == ["k1", "k2", "k2"]
        await clock.sleep(60)
        keys = gateway.providers[0].keys
        assert keys is not None
        assert keys.statistics().cooling == 0

    async def test_an_overload_of_every_key_waits_after_one_pass_and_then_gives_up(self, clock: VirtualClock) -> None:
        gateway, used = self.keyed(clock, ["k1", "k2"], self.refuse(k1=529, k2=529))
        with pytest.raises(Overloaded):
            await gateway.call(ask(gateway), gateway.candidates())
        assert used == ["k1", "k2", "k1", "k2", "k1"]
        assert clock.slept == pytest.approx([0.25, 0.5, 1.0], rel=0.21)

    @pytest.mark.parametrize(
        ("error", "keys", "slept"),
        [
            (Failure(429), ["k1", "k2"], []),
            (Failure(429, retry_after=9), ["k1", "k2"], []),
            (Failure(529), ["k1", "k2"], []),
            (Failure(529, retry_after=9), ["k1", "k2"], []),
            (Failure(503, text="Overloaded"), ["k1", "k2"], []),
            (Failure(401), ["k1", "k2"], []),
            (Failure(403), ["k1", "k2"], []),
            (Failure(503), ["k1", "k1"], [pytest.approx(0.25, rel=0.21)]),
            (Failure(503, retry_after=9), ["k1", "k1"], [9]),
            (Failure(500), ["k1", "k1"], [pytest.approx(0.25, rel=0.21)]),
            (TimeoutError("silent"), ["k1", "k1"], [pytest.approx(0.25, rel=0.21)]),
            (ConnectionError("refused"), ["k1", "k1"], [pytest.approx(0.25, rel=0.21)]),
        ],
    )
    @pytest.mark.parametrize("streamed", [False, True])
    async def test_which_failures_change_the_key_and_which_wait_with_it(
        self, clock: VirtualClock, error: Exception, keys: list[str], slept: list[float], streamed: bool
    ) -> None:
        failures = iter([error])

        def answer(key: str | None) -> str:
            for failure in failures:
                raise failure
            return "hello"

        gateway, used = self.keyed(clock, ["k1", "k2"], answer)
        listener = [].append if streamed else None
        await gateway.call(ask(gateway, on_text=listener), gateway.candidates())
        assert (used, clock.slept) == (keys, slept)

    async def test_a_wait_that_the_provider_asked_of_one_key_is_not_cut_short_by_another(
        self, clock: VirtualClock
    ) -> None:
        failures = iter([Failure(429), Failure(529, retry_after=5)])

        def answer(key: str | None) -> str:
            for failure in failures:
                raise failure
            return f"with {key}"

        gateway, _ = self.keyed(clock, ["k1", "k2"], answer)
        response = await gateway.call(ask(gateway), gateway.candidates())
        assert (response.text, clock.slept) == ("with k1", [pytest.approx(0.25, rel=0.21)])

    async def test_when_every_key_was_refused_the_next_candidate_is_asked(self, clock: VirtualClock) -> None:
        gateway, used = self.keyed(clock, ["k1", "k2"], self.refuse(k1=401, k2=401), spare=True)
        assert (await gateway.call(ask(gateway), gateway.candidates())).text == "from b"
        assert (used, clock.slept) == (["k1", "k2"], [])
        assert [candidate.provider.id for candidate in gateway.candidates()] == ["b"]
        assert gateway.statistics()[0].health == "no_keys"

    async def test_when_every_key_was_refused_the_model_is_not_asked(self, clock: VirtualClock) -> None:
        gateway, used = self.keyed(clock, ["k1"], self.refuse(k1=401))
        for _ in range(2):
            with pytest.raises(AuthenticationFailed):
                await gateway.call(ask(gateway), [gateway.find("a")])
        assert used == ["k1"]

    async def test_resting_keys_send_the_next_call_to_the_other_provider(self, clock: VirtualClock) -> None:
        gateway, used = self.keyed(clock, ["k1"], self.refuse(k1=429), spare=True)
        await gateway.call(ask(gateway), gateway.candidates())
        waited, asked = len(clock.slept), len(used)
        assert (await gateway.call(ask(gateway), gateway.candidates())).text == "from b"
        assert (len(clock.slept), len(used)) == (waited, asked)

    async def test_a_resting_key_is_asked_after_a_back_off_when_nobody_else_is_left(self, clock: VirtualClock) -> None:
        gateway, used = self.keyed(clock, ["k1"], self.refuse())
        keys = gateway.providers[0].keys
        assert keys is not None
        keys.cool_down("k1", 60, "m")
        assert (await gateway.call(ask(gateway), gateway.candidates())).text == "with k1"
        assert clock.slept == [pytest.approx(0.25, rel=0.2)]
        assert used == ["k1"]

    async def test_a_wait_the_provider_asked_for_is_kept_by_the_next_call_too(self, clock: VirtualClock) -> None:
        gateway, _ = self.keyed(clock, ["k1"], self.refuse())
        keys = gateway.providers[0].keys
        assert keys is not None
        keys.cool_down("k1", 20, "m", is_provider_requested=True)
        await gateway.call(ask(gateway), gateway.candidates())
        assert clock.slept == [20]

    async def test_a_kept_request_goes_on_showing_the_key_it_was_made_with(self, clock: VirtualClock) -> None:
        async def model(request: ModelRequest) -> str:
            if request.key == "k1":
                raise Failure(429)
            return "hello"

        recorded = FunctionModel(model, name="m")
        gateway = ModelGateway([Provider("a", [recorded], keys=ApiKeyPool(["k1", "k2"], clock))], clock=clock)
        await gateway.call(ask(gateway), gateway.candidates())
        assert [request.key for request in recorded.requests] == ["k1", "k2"]

    async def test_keys_never_stand_in_a_request(self, clock: VirtualClock) -> None:
        gateway, _ = self.keyed(clock, ["sk-secret"], self.refuse())
        request = ask(gateway)
        await gateway.call(request, gateway.candidates())
        assert "sk-secret" not in repr(request)


class TestBreaker:
    async def test_a_provider_that_failed_three_calls_is_left_alone_for_a_minute(self, clock: VirtualClock) -> None:
        first = scripted("a", *[Failure(503)] * 3, "back again")
        gateway = door(clock, first, scripted("b", *["from b"] * 4), max_retries=0)
        for _ in range(4):
            assert (await gateway.call(ask(gateway), gateway.candidates())).text == "from b"
        assert [candidate.provider.id for candidate in gateway.candidates()] == ["b"]
        await clock.sleep(60)
        assert (await gateway.call(ask(gateway), gateway.candidates())).text == "back again"

    async def test_the_attempts_of_one_call_do_not_bench_the_provider(self, clock: VirtualClock) -> None:
        gateway = door(clock, scripted("a", *[Failure(503)] * 4, "hello"))
        with pytest.raises(ProviderUnavailable):
            await gateway.call(ask(gateway), gateway.candidates())
        assert (await gateway.call(ask(gateway), gateway.candidates())).text == "hello"

    @pytest.mark.parametrize("status", [400, 401, 429])
    async def test_a_refusal_is_no_failure_of_the_provider(self, clock: VirtualClock, status: int) -> None:
        gateway = door(clock, scripted("a", *[Failure(status)] * 4), max_retries=0)
        for _ in range(4):
            with pytest.raises(ModelError):
                await gateway.call(ask(gateway), gateway.candidates())
        assert gateway.statistics()[0].health == "active"

    async def test_a_benched_provider_is_asked_when_the_turn_has_no_other(self, clock: VirtualClock) -> None:
        gateway = door(clock, scripted("a", *[Failure(503)] * 3, "hello"), max_retries=0)
        route = gateway.candidates()
        for _ in range(3):
            with pytest.raises(ProviderUnavailable):
                await gateway.call(ask(gateway), route)
        assert gateway.candidates() == []
        assert (await gateway.call(ask(gateway), route)).text == "hello"
        assert gateway.candidates() == route

    async def test_a_probe_that_is_refused_shows_that_the_provider_is_back(self, clock: VirtualClock) -> None:
        gateway = door(clock, scripted("a", *[Failure(503)] * 3, Failure(400)), max_retries=0)
        route = gateway.candidates()
        for _ in range(3):
            with pytest.raises(ProviderUnavailable):
                await gateway.call(ask(gateway), route)
        await clock.sleep(60)
        with pytest.raises(BadRequest):
            await gateway.call(ask(gateway), route)
        assert gateway.providers[0].breaker.probe_at is None

    async def test_a_cancelled_probe_makes_room_for_another(self, clock: VirtualClock) -> None:
        probed = asyncio.Event()

        async def answer(request: ModelRequest) -> str:
            if len(model.requests) <= 3:
                raise Failure(503)
            probed.set()
            return await asyncio.get_running_loop().create_future()

        model = FunctionModel(answer, name="a")
        gateway = door(clock, model, max_retries=0)
        route = gateway.candidates()
        for _ in range(3):
            with pytest.raises(ProviderUnavailable):
                await gateway.call(ask(gateway), route)
        await clock.sleep(60)
        probe = asyncio.create_task(gateway.call(ask(gateway), route))
        await probed.wait()
        assert gateway.candidates() == []
        probe.cancel()
        await asyncio.wait([probe])
        assert probe.cancelled()
        assert gateway.candidates() == route


class TestStreaming:
    async def test_a_streaming_model_is_heard_as_it_speaks(self, clock: VirtualClock) -> None:
        gateway, heard = door(clock, scripted("a", "one two three", stream=True)), list[str]()
        await gateway.call(ask(gateway, on_text=heard.append), gateway.candidates())
        assert heard == ["one ", "two ", "three"]

    async def test_a_model_that_cannot_stream_is_heard_in_one_piece(self, clock: VirtualClock) -> None:
        gateway, heard = door(clock, scripted("a", "one two three")), list[str]()
        await gateway.call(ask(gateway, on_text=heard.append), gateway.candidates())
        assert heard == ["one two three"]

    async def test_no_text_is_no_chunk(self, clock: VirtualClock) -> None:
        gateway, heard = door(clock, scripted("a", [ToolCall("1", "clock")])), list[str]()
        await gateway.call(ask(gateway, on_text=heard.append), gateway.candidates())
        assert heard == []

    @staticmethod
    def breaking(*texts: str, error: BaseException) -> FunctionModel:
        async def model(request: ModelRequest) -> str:
            for text in texts:
                assert request.on_text is not None
                request.on_text(text)
            raise error

        return FunctionModel(model, name="a")

    async def test_after_visible_text_nothing_is_repeated(self, clock: VirtualClock) -> None:
        heard: list[str] = []
        model = self.breaking("Good ", error=Failure(503))
        gateway = door(clock, model, scripted("b", "from b"))
        with pytest.raises(ProviderUnavailable) as caught:
            await gateway.call(ask(gateway, on_text=heard.append), gateway.candidates())
        assert caught.value.visible
        assert (heard, len(model.requests), clock.slept) == (["Good "], 1, [])

    async def test_reasoning_of_a_failed_attempt_is_charged_and_begins_anew(self, clock: VirtualClock) -> None:
        shown: list[str] = []

        class Shown:
            def __call__(self, text: str) -> None:
                shown.append(text)

            def restart(self) -> None:
                shown.clear()

        async def model(request: ModelRequest) -> ModelResponse:
            assert request.on_reasoning is not None
            request.on_reasoning("half a thought" if len(failing.requests) == 1 else "a whole thought")
            if len(failing.requests) == 1:
                raise Failure(503)
            return ModelResponse("Good", reasoning="a whole thought")

        failing = FunctionModel(model, name="a", prices=(1.0, 1.0))
        gateway, attempts = door(clock, failing), EventRecorder()
        request = ask(gateway, on_text=lambda text: None).copy_with(on_reasoning=Shown())
        response = await gateway.call(request, gateway.candidates(), emit=attempts.emit)
        assert (response.text, response.reasoning, shown) == ("Good", "a whole thought", ["a whole thought"])
        first = attempts.of(ModelAttempt)[0]
        assert (first.outcome, first.usage.output_tokens > 0) == ("provider_unavailable", True)

    @pytest.mark.parametrize("blank", ["\n", "  ", "\u200b"])
    async def test_blank_text_is_not_visible_and_goes_with_its_attempt(self, clock: VirtualClock, blank: str) -> None:
        heard: list[str] = []
        gateway = door(clock, self.breaking(blank, error=Failure(503)), scripted("b", "from b"), max_retries=1)
        await gateway.call(ask(gateway, on_text=heard.append), gateway.candidates())
        assert heard == ["from b"]

    async def test_blank_text_before_visible_text_is_kept(self, clock: VirtualClock) -> None:
        async def streaming(request: ModelRequest) -> str:
            assert request.on_text is not None
            for text in ("\n", " ", "Good", " ", "day"):
                request.on_text(text)
            return "\n Good day"

        heard: list[str] = []
        gateway = door(clock, FunctionModel(streaming, name="a"))
        await gateway.call(ask(gateway, on_text=heard.append), gateway.candidates())
        assert heard == ["\n Good", " ", "day"]

    async def test_text_that_a_layer_held_back_is_not_visible(self, clock: VirtualClock) -> None:
        async def hold_back(request: ModelRequest, call: Call) -> ModelResponse:
            response = await call(request.copy_with(on_text=lambda text: None))
            assert request.on_text is not None
            request.on_text(response.text.upper())
            return response

        heard: list[str] = []
        gateway = door(clock, self.breaking("secret", error=Failure(503)), scripted("b", "from b"), max_retries=0)
        await gateway.call(ask(gateway, on_text=heard.append), gateway.candidates(), layers=[hold_back])
        assert heard == ["FROM B"]

    async def test_the_answer_of_a_layer_that_asks_nobody_is_heard_once(self, clock: VirtualClock) -> None:
        async def cached(request: ModelRequest, call: Call) -> ModelResponse:
            return ModelResponse("from the cache")

        gateway, heard = door(clock, scripted("a")), list[str]()
        response = await gateway.call(ask(gateway, on_text=heard.append), gateway.candidates(), layers=[cached])
        assert heard == ["from the cache"]
        assert response.usage == Usage()

    async def test_a_listener_that_breaks_is_no_fault_of_the_provider(self, clock: VirtualClock) -> None:
        def broken(text: str) -> None:
            raise KeyError("the listener's own")

        gateway, meter = door(clock, scripted("a", "hello", stream=True), scripted("b")), Ledger()
        with pytest.raises(KeyError, match="the listener's own"):
            await gateway.call(ask(gateway, on_text=broken), gateway.candidates(), meter=meter)
        assert meter.open == {}

    async def test_a_stop_takes_effect_at_the_next_chunk(self, clock: VirtualClock) -> None:
        heard: list[str] = []

        def check() -> None:
            if len(heard) == 2:
                raise asyncio.CancelledError

        gateway = door(clock, scripted("a", "one two three four", stream=True))
        with pytest.raises(asyncio.CancelledError):
            await gateway.call(ask(gateway, on_text=heard.append), gateway.candidates(), check=check)
        assert heard == ["one ", "two "]

    async def test_a_budget_that_ends_a_visible_text_asks_nobody_else(self, clock: VirtualClock) -> None:
        heard: list[str] = []

        def check() -> None:
            if heard:
                raise BudgetExceeded("ActiveTime", 31, 30)

        first, last = scripted("a", Failure(503)), scripted("c")
        gateway = door(clock, first, scripted("b", "one two", stream=True), last, max_retries=0)
        with pytest.raises(BudgetExceeded):
            await gateway.call(ask(gateway, on_text=heard.append), gateway.candidates(), check=check)
        assert heard == ["one "]


def recording(log: list[str], name: str) -> CallLayer:
    async def layer(request: ModelRequest, call: Call) -> ModelResponse:
        log.append(f"{name} in {request.model.name}")
        try:
            return await call(request)
        finally:
            log.append(f"{name} out")

    return layer


class TestLayers:
    async def test_layers_run_once_per_candidate_the_first_outermost(self, clock: VirtualClock) -> None:
        log: list[str] = []
        gateway = door(clock, scripted("a", *[Failure(503)] * 4), scripted("b", "from b"))
        await gateway.call(
            ask(gateway), gateway.candidates(), layers=[recording(log, "outer"), recording(log, "inner")]
        )
        once = ["outer in {}", "inner in {}", "inner out", "outer out"]
        assert log == [line.format(model) for model in "ab" for line in once]

    @pytest.mark.parametrize(("purpose", "ran"), [("reply", True), ("step", True), ("plan", False), ("title", False)])
    async def test_only_replies_and_steps_pass_through_the_layers(
        self, clock: VirtualClock, purpose: Purpose, ran: bool
    ) -> None:
        log: list[str] = []
        gateway = door(clock, scripted("a", "hello"))
        await gateway.call(ask(gateway, purpose), gateway.candidates(), layers=[recording(log, "layer")])
        assert bool(log) is ran

    async def test_a_layer_may_ask_again_after_an_overflow(self, clock: VirtualClock) -> None:
        async def shorten(request: ModelRequest, call: Call) -> ModelResponse:
            try:
                return await call(request)
            except ContextOverflow:
                return await call(request.copy_with(messages=request.messages[-1:]))

        gateway = door(clock, scripted("a", Failure(400, text="maximum context length"), "shorter"))
        assert (await gateway.call(ask(gateway), gateway.candidates(), layers=[shorten])).text == "shorter"

    async def test_what_a_layer_raises_passes_untouched(self, clock: VirtualClock) -> None:
        async def broken(request: ModelRequest, call: Call) -> ModelResponse:
            raise LookupError("a mistake of the layer")

        gateway = door(clock, scripted("a"), scripted("b"))
        with pytest.raises(LookupError, match="a mistake of the layer"):
            await gateway.call(ask(gateway), gateway.candidates(), layers=[broken])


class TestMeter:
    @pytest.mark.parametrize("error", [TimeoutError(), ConnectionResetError()])
    async def test_an_attempt_that_was_sent_and_got_lost_is_charged_its_input(
        self, clock: VirtualClock, error: Exception
    ) -> None:
        gateway, meter = door(clock, scripted("a", error, "hello")), Ledger()
        request = ask(gateway)
        await gateway.call(request, gateway.candidates(), meter=meter)
        assert meter.settled[0] == Usage(gateway.tokens.count_request(request), 0)
        assert (meter.released, meter.open) == (0, {})

    async def test_what_the_model_noted_is_charged_when_it_fails(self, clock: VirtualClock) -> None:
        async def noting(request: ModelRequest) -> ModelResponse:
            assert request.output is not None
            if len(model.requests) == 1:
                request.output.pieces += ["f", "word " * 100]
                raise Failure(503)
            request.output.usage = Usage(100, 10)
            raise Failure(400)

        model = FunctionModel(noting, name="a")
        gateway, meter = door(clock, model), Ledger()
        request = ask(gateway)
        with pytest.raises(BadRequest):
            await gateway.call(request, gateway.candidates(), meter=meter)
        produced = gateway.tokens.count_text("f" + "word " * 100)
        assert meter.settled == [Usage(gateway.tokens.count_request(request), produced), Usage(100, 10)]

    @pytest.mark.parametrize("report", [Usage(None, 3), Usage("12", 3), {"a": 1}, Usage(1, 1, unpriced_tokens=-1)])  # type: ignore[arg-type]
    async def test_a_report_that_nobody_can_read_is_estimated_and_leaves_nothing_reserved(
        self, clock: VirtualClock, report: Any
    ) -> None:
        gateway, meter = door(clock, scripted("a", ModelResponse("hello", usage=report))), Ledger()
        request = ask(gateway)
        await gateway.call(request, gateway.candidates(), meter=meter)
        estimate = Usage(gateway.tokens.count_request(request), gateway.tokens.count_text("hello"))
        assert (meter.settled, meter.open) == ([estimate], {})

    async def test_an_answer_of_the_wrong_type_was_paid_for(self, clock: VirtualClock) -> None:
        gateway = door(clock, scripted("a", ModelResponse(None, usage=Usage(100, 10))))  # type: ignore[arg-type]
        meter = Ledger()
        with pytest.raises(ModelError, match="whose text is None"):
            await gateway.call(ask(gateway), gateway.candidates(), meter=meter)
        assert meter.settled == [Usage(100, 10)]

    async def test_reported_usage_is_settled_with_its_price(self, clock: VirtualClock) -> None:
        answer = ModelResponse("hello", usage=Usage(100, 10))
        gateway, meter = door(clock, scripted("a", answer, prices=(2.0, 8.0))), Ledger()
        response = await gateway.call(ask(gateway), gateway.candidates(), meter=meter)
        assert meter.settled == [Usage(100, 10, 280)]
        assert response.usage == Usage(100, 10, 280)
        assert meter.open == {}

    async def test_a_price_the_provider_reports_stands(self, clock: VirtualClock) -> None:
        answer = ModelResponse("hello", usage=Usage(100, 10, cost_micros=7))
        gateway = door(clock, scripted("a", answer, prices=(2.0, 8.0)))
        response = await gateway.call(ask(gateway), gateway.candidates())
        assert response.usage == Usage(100, 10, 7)

    async def test_usage_is_estimated_when_none_is_reported(self, clock: VirtualClock) -> None:
        gateway, meter = door(clock, scripted("a", "hello")), Ledger()
        request = ask(gateway)
        response = await gateway.call(request, gateway.candidates(), meter=meter)
        estimate = Usage(gateway.tokens.count_request(request), gateway.tokens.count_text("hello"))
        assert response.usage == estimate
        assert meter.settled == [estimate]

    async def test_an_answer_that_a_model_gives_twice_stays_as_it_is(self, clock: VirtualClock) -> None:
        answer = ModelResponse("hello")
        gateway = door(clock, scripted("a", answer, answer))
        for _ in range(2):
            await gateway.call(ask(gateway), gateway.candidates())
        assert answer == ModelResponse("hello")

    async def test_the_meter_is_asked_before_every_attempt_and_a_failed_one_costs_nothing(
        self, clock: VirtualClock
    ) -> None:
        gateway, meter = door(clock, scripted("a", Failure(503), Failure(503), "hello")), Ledger()
        await gateway.call(ask(gateway), gateway.candidates(), meter=meter)
        assert len(meter.asked) == 3
        assert (meter.released, len(meter.settled), meter.open) == (2, 1, {})

    async def test_a_spent_candidate_is_skipped(self, clock: VirtualClock) -> None:
        with scripted("a") as spent, scripted("b", "from b") as other:
            gateway = door(clock, spent, other)
            response = await gateway.call(ask(gateway), gateway.candidates(), meter=Ledger(a=0))
        assert response.text == "from b"

    async def test_when_all_are_spent_the_budget_is_what_leaves(self, clock: VirtualClock) -> None:
        with scripted("a") as first, scripted("b") as second:
            gateway = door(clock, first, second)
            with pytest.raises(BudgetExceeded) as caught:
                await gateway.call(ask(gateway), gateway.candidates(), meter=Ledger(a=0, b=0))
        assert caught.value.provider == "b"

    async def test_a_model_that_failed_before_the_budget_was_spent_is_the_error(self, clock: VirtualClock) -> None:
        gateway, meter = door(clock, scripted("a", Failure(503))), Ledger(a=1)
        with pytest.raises(ProviderUnavailable):
            await gateway.call(ask(gateway), gateway.candidates(), meter=meter)
        assert meter.open == {}

    async def test_a_text_cut_off_after_it_was_shown_is_charged(self, clock: VirtualClock) -> None:
        meter = Ledger()
        gateway = door(clock, TestStreaming.breaking("eight letters", error=Failure(503)))
        request = ask(gateway, on_text=lambda text: None)
        with pytest.raises(ProviderUnavailable):
            await gateway.call(request, gateway.candidates(), meter=meter)
        assert meter.settled == [
            Usage(gateway.tokens.count_request(request), gateway.tokens.count_text("eight letters"))
        ]
        assert meter.open == {}

    async def test_reported_usage_calibrates_the_next_estimate(self, clock: VirtualClock) -> None:
        long = [Message("user", "word " * 400)]
        gateway, meter = door(clock, scripted("a", *[ModelResponse("x", usage=Usage(1000, 1))] * 2)), Ledger()
        for _ in range(2):
            await gateway.call(
                ModelRequest(long, [], gateway.providers[0].models[0].info), gateway.candidates(), meter=meter
            )
        first, second = (tokens for _, tokens in meter.asked)
        assert first < second < 1000


class TestWatching:
    async def test_every_attempt_is_an_event(self, clock: VirtualClock) -> None:
        recorder = EventRecorder()
        gateway = door(clock, scripted("a", Failure(401)), scripted("b", Failure(529), "hello"))
        await gateway.call(ask(gateway, "title"), gateway.candidates(), emit=recorder.emit)
        attempts = recorder.of(ModelAttempt)
        assert [(event.model, event.outcome) for event in attempts] == [
            ("a/a", "authentication"),
            ("b/b", "overloaded"),
            ("b/b", "ok"),
        ]
        assert {event.purpose for event in attempts} == {"title"}

    async def test_an_attempt_tells_its_duration_and_its_usage(self, clock: VirtualClock) -> None:
        async def model(request: ModelRequest) -> ModelResponse:
            await clock.sleep(1.5)
            return ModelResponse("hello", usage=Usage(7, 2))

        recorder = EventRecorder()
        gateway = door(clock, FunctionModel(model, name="a"))
        await gateway.call(ask(gateway), gateway.candidates(), emit=recorder.emit)
        [attempt] = recorder.of(ModelAttempt)
        assert (attempt.duration_ms, attempt.usage) == (1500, Usage(7, 2))

    async def test_a_wait_and_a_change_of_provider_are_told(self, clock: VirtualClock) -> None:
        recorder = EventRecorder()
        gateway = door(clock, scripted("a", Failure(529, 2), Failure(529)), scripted("b", "hello"), max_retries=1)
        await gateway.call(ask(gateway), gateway.candidates(), emit=recorder.emit)
        assert [(event.status, event.detail) for event in recorder.of(AgentStatus)] == [
            ("retrying", "a/a: overloaded; retrying in 2.0 s"),
            ("retrying", "a/a failed (overloaded); trying b/b"),
        ]

    async def test_a_stop_is_seen_before_the_next_attempt(self, clock: VirtualClock) -> None:
        model, meter = scripted("a", Failure(503), "never"), Ledger()

        def check() -> None:
            if model.requests:
                raise asyncio.CancelledError

        gateway = door(clock, model)
        with pytest.raises(asyncio.CancelledError):
            await gateway.call(ask(gateway), gateway.candidates(), meter=meter, check=check)
        assert (len(model.requests), meter.open) == (1, {})

    @pytest.mark.parametrize(
        ("given", "finish"),
        [
            (ModelResponse("x", finish_reason="tool_calls"), "stop"),
            (ModelResponse("x", [ToolCall("1", "clock")], finish_reason="stop"), "tool_calls"),
            (ModelResponse("x", finish_reason="length"), "length"),
        ],
    )
    async def test_the_finish_reason_agrees_with_the_tool_calls(
        self, clock: VirtualClock, given: ModelResponse, finish: str
    ) -> None:
        gateway = door(clock, scripted("a", given))
        assert (await gateway.call(ask(gateway), gateway.candidates())).finish_reason == finish


class TestFinding:
    @staticmethod
    def gateway(clock: VirtualClock) -> ModelGateway:
        large, small, other = scripted("large"), scripted("small"), scripted("small")
        return ModelGateway(
            [
                Provider("two", [other], priority=2),
                Provider("one", [large, small]),
                Provider("off", [large], active=False),
            ],
            clock=clock,
        )

    def test_candidates_are_the_first_models_of_active_providers_by_priority(self, clock: VirtualClock) -> None:
        found = self.gateway(clock).candidates()
        assert [(candidate.provider.id, candidate.info.name) for candidate in found] == [
            ("one", "large"),
            ("two", "small"),
        ]

    @pytest.mark.parametrize(
        ("name", "provider", "model"),
        [
            ("one/small", "one", "small"),
            ("two/small", "two", "small"),
            ("small", "one", "small"),
            ("two", "two", "small"),
            ("one", "one", "large"),
        ],
    )
    def test_a_model_is_found_by_id_by_name_and_by_provider(
        self, clock: VirtualClock, name: str, provider: str, model: str
    ) -> None:
        found = self.gateway(clock).find(name)
        assert (found.provider.id, found.info.name) == (provider, model)

    @pytest.mark.parametrize("name", ["lage", "off", "off/large"])
    def test_an_unknown_or_inactive_name_is_not_found(self, clock: VirtualClock, name: str) -> None:
        with pytest.raises(NotFound):
            self.gateway(clock).find(name)

    def test_a_near_name_is_told(self, clock: VirtualClock) -> None:
        with pytest.raises(NotFound, match="did you mean 'large'"):
            self.gateway(clock).find("lrge")

    def test_a_provider_without_models_is_refused(self) -> None:
        with pytest.raises(ValueError, match="has no models"):
            Provider("empty", [])


@pytest.mark.parametrize(
    ("reported", "calls", "shown"),
    [("tool_calls", [], "stop"), ("stop", [ToolCall("1", "clock")], "tool_calls"), ("length", [], "length")]
    + [(odd, [], "stop") for odd in ("stop", "suspended", "end_turn", "budget_exceeded", "", None, [], 7)],
)
async def test_a_finish_reason_is_one_that_a_model_may_give_and_agrees_with_the_calls(
    clock: VirtualClock, reported: Any, calls: list[ToolCall], shown: str
) -> None:
    gateway = door(clock, scripted("a", ModelResponse("hello", calls, finish_reason=reported)))
    assert (await gateway.call(ask(gateway), gateway.candidates())).finish_reason == shown


async def test_closing_closes_every_model_even_if_one_fails(clock: VirtualClock) -> None:
    closed: list[str] = []

    class Closable(ScriptedModel):
        async def aclose(self) -> None:
            closed.append(self.info.name)
            await super().aclose()

    gateway = door(clock, Closable(["left over"], name="a"), Closable([], name="b"), FunctionModel(_never, name="c"))
    with pytest.raises(AssertionError, match="left over"):
        await gateway.aclose()
    assert closed == ["a", "b"]


async def test_a_model_that_hangs_while_it_is_closed_does_not_keep_the_others_open(clock: VirtualClock) -> None:
    closed: list[str] = []
    hanging: list[Any] = []

    class Closable(ScriptedModel):
        async def aclose(self) -> None:
            closed.append(self.info.name)

    class Hanging(ScriptedModel):
        async def aclose(self) -> None:
            hanging.append(asyncio.current_task())
            while "released" not in closed:
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.get_running_loop().create_future()

    gateway = door(clock, Hanging([], name="a"), Closable([], name="b"), Closable([], name="c"))
    with pytest.raises(ModelTimeout, match="a/a did not close within 5 seconds"):
        await gateway.aclose()
    assert closed == ["b", "c"]
    closed.append("released")
    for task in hanging:
        task.cancel()
    await asyncio.wait(hanging)


async def _never(request: ModelRequest) -> str:
    raise AssertionError("nobody asks")


async def test_concurrent_calls_know_nothing_of_each_other(clock: VirtualClock) -> None:
    async def echo(request: ModelRequest) -> str:
        await clock.sleep(1)
        return request.messages[0].content

    gateway = door(clock, FunctionModel(echo, name="a"))
    info = gateway.providers[0].models[0].info
    calls: list[Awaitable[ModelResponse]] = [
        gateway.call(ModelRequest([Message("user", str(n))], [], info), gateway.candidates()) for n in range(20)
    ]
    assert [response.text for response in await asyncio.gather(*calls)] == [str(n) for n in range(20)]


async def test_a_listener_that_holds_text_back_is_told_of_every_new_attempt(clock: VirtualClock) -> None:
    class Holding:
        def __init__(self) -> None:
            self.restarts = 0

        def restart(self) -> None:
            self.restarts += 1

        def __call__(self, text: str) -> None:
            pass

    async def layer(request: ModelRequest, call: Call) -> ModelResponse:
        return await call(request.copy_with(on_text=holding))

    holding, gateway = Holding(), door(clock, scripted("a", Failure(503), "hello", stream=True))
    await gateway.call(ask(gateway, on_text=lambda text: None), gateway.candidates(), layers=[layer])
    assert holding.restarts == 2


async def test_warming_up_loads_clients_and_the_tokenizer_of_models_that_have_one() -> None:
    class Client:
        info = ModelInfo(name="real", provider="real")
        warm = False

        async def warm_up(self) -> None:
            self.warm = True

        async def complete(self, request: ModelRequest) -> ModelResponse:
            return ModelResponse("hi")

    client = Client()
    gateway = ModelGateway([Provider("real", [client])], clock=VirtualClock(auto=False))

    await gateway.warm_up()

    assert client.warm
    assert gateway.tokens.name != "estimate"


async def test_warming_up_loads_nothing_for_models_that_have_nothing_to_load() -> None:
    gateway = ModelGateway([Provider("function", [ScriptedModel([])])], clock=VirtualClock())

    await gateway.warm_up()

    assert gateway.tokens.name == "estimate"
