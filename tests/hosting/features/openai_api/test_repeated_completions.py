"""Completions as OpenAI's clients repeat them, in plain HTTP: nothing that has run runs again."""

import asyncio
import json
from datetime import timedelta
from typing import Any

import httpx
import pytest

from sophon import Decision, ModelRequest, ModelResponse, ToolCall
from sophon.errors import AuthenticationFailed, BadRequest, ProviderUnavailable, RateLimited
from sophon.testing import FunctionModel, VirtualClock
from sophon_hosting.features.openai_api import routes
from sophon_hosting.features.openai_api.completion_errors import payload_of_turn, to_error_headers

FAILURES: dict[str, Exception] = {
    "bad": BadRequest("no such field"),
    "key": AuthenticationFailed("wrong key"),
    "often": RateLimited("too often"),
    "gone": ProviderUnavailable("no network"),
}
PATH = "/v1/chat/completions"


def body(text: str, **more: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text}], **more}


async def send_as_the_sdk(client: httpx.AsyncClient, content: dict[str, Any], **headers: str) -> httpx.Response:
    """Send a request and repeat it twice by the rules of OpenAI's clients (`_should_retry`)."""
    for _ in range(3):
        response = await client.post(PATH, json=content, headers=headers)
        told = response.headers.get("x-should-retry")
        if told == "false" or (told != "true" and response.status_code not in (408, 409, 429, 500, 502, 503, 504)):
            break
    return response


class Model:
    """Uses a tool, then does what the message says."""

    def __init__(self) -> None:
        self.turns, self.asked, self.release = 0, asyncio.Event(), asyncio.Event()

    async def __call__(self, request: ModelRequest) -> str | ModelResponse:
        text = next(each.content for each in reversed(request.messages) if each.role == "user")
        if text == "pay":
            return "paid" if request.messages[-1].role == "tool" else _pay()
        if request.messages[-1].role == "user":
            self.turns += 1
            return ModelResponse("", [ToolCall("c", "calculator", {"expression": "6 * 7"})])
        self.asked.set()
        if text == "wait":
            await self.release.wait()
        if text in FAILURES:
            raise FAILURES[text]
        return f"said {text}"


def _pay() -> ModelResponse:
    return ModelResponse("", [ToolCall("c", "pay", {"to": "Ada"})])


async def start(serve: Any, clock: Any = None) -> tuple[Any, Model]:
    model = Model()
    settings = {"Hub": {"OpenAiApi": True}}
    return await serve(models=FunctionModel(model, stream=True), settings=settings, clock=clock), model


@pytest.mark.parametrize(
    ("text", "status", "kind"),
    [
        ("bad", 400, "invalid_request_error"),
        ("key", 502, "server_error"),
        ("often", 429, "rate_limit_error"),
        ("gone", 502, "server_error"),
    ],
)
async def test_a_turn_that_failed_at_a_provider_runs_its_tools_once(serve, text, status, kind) -> None:
    api, model = await start(serve, VirtualClock())
    response = await send_as_the_sdk(await api.open("ada"), body(text))
    assert (response.status_code, response.headers["x-should-retry"], model.turns) == (status, "false", 1)
    assert set(response.json()["error"]) == {"message", "type", "param", "code"}
    assert response.json()["error"]["type"] == kind
    assert ("Retry-After" in response.headers) == (status == 429)


@pytest.mark.parametrize("is_streamed", [False, True])
async def test_a_spent_budget_is_a_limit_and_no_answer(serve, is_streamed) -> None:
    settings = {"Hub": {"OpenAiApi": True}, "Budget": {"Turn": {"Tokens": 1}}}
    api = await serve(models=FunctionModel(Model(), stream=True), settings=settings)
    response = await send_as_the_sdk(await api.open("ada"), body("hello", stream=is_streamed))
    if is_streamed:
        error = next(json.loads(line[6:])["error"] for line in response.text.splitlines() if '"error"' in line)
    else:
        error = response.json()["error"]
        assert (response.status_code, response.headers["x-should-retry"]) == (429, "false")
    assert (error["type"], error["code"]) == ("rate_limit_error", "insufficient_quota")
    assert "Budget.Turn.Tokens" in error["message"]


async def test_a_cancelled_task_is_not_made_again(serve) -> None:
    api, model = await start(serve)
    ada = await api.open("ada")
    pending = asyncio.ensure_future(send_as_the_sdk(ada, body("wait")))
    await asyncio.wait_for(model.asked.wait(), 30)
    [task] = [each.id for each in await api.host.services.store.runs.list()]
    await api.host.cancel(task)
    response = await pending
    assert (response.status_code, response.json()["error"]["code"], model.turns) == (400, "cancelled", 1)


async def test_a_key_gives_the_same_task_while_it_runs_and_afterwards(serve) -> None:
    api, model = await start(serve)
    ada, key = await api.open("ada"), {"Idempotency-Key": "k1"}
    first = asyncio.ensure_future(ada.post(PATH, json=body("wait"), headers=key))
    await asyncio.wait_for(model.asked.wait(), 30)
    second = asyncio.ensure_future(ada.post(PATH, json=body("wait"), headers=key))
    model.release.set()
    answers = [(await each).json() for each in (first, second)]
    answers.append((await ada.post(PATH, json=body("wait", client_message_id="k1"))).json())
    assert [each["choices"][0]["message"]["content"] for each in answers] == ["said wait"] * 3
    assert len({each["id"] for each in answers}) == 1
    assert answers[0] == answers[2]
    streamed = await ada.post(PATH, json=body("wait", stream=True), headers=key)
    assert "said wait" in streamed.text
    assert model.turns == 1


async def test_a_key_survives_a_client_that_goes_away_and_a_failure(serve) -> None:
    api, model = await start(serve)
    ada, key = await api.open("ada"), {"Idempotency-Key": "k2"}
    with pytest.raises(httpx.ReadTimeout):
        await ada.post(PATH, json=body("wait"), headers=key, timeout=0.5)
    model.release.set()
    assert (await ada.post(PATH, json=body("wait"), headers=key)).status_code == 200
    failed = [await ada.post(PATH, json=body("bad"), headers={"Idempotency-Key": "k3"}) for _ in range(2)]
    assert [each.status_code for each in failed] == [400, 400]
    assert failed[0].json() == failed[1].json()
    assert model.turns == 2


async def test_a_key_belongs_to_one_request_of_one_user(serve) -> None:
    api, model = await start(serve)
    ada, bob, key = await api.open("ada"), await api.open("bob"), {"Idempotency-Key": "k4"}
    await ada.post(PATH, json=body("one"), headers=key)
    other = await ada.post(PATH, json=body("two"), headers=key)
    assert (other.status_code, other.json()["error"]["code"]) == (422, "idempotency_key_reused")
    assert (await bob.post(PATH, json=body("two"), headers=key)).status_code == 200
    assert model.turns == 2


async def test_an_error_within_a_stream_is_an_event_in_openais_format(serve) -> None:
    api, _ = await start(serve)
    streamed = await (await api.open("ada")).post(PATH, json=body("bad", stream=True))
    events = [json.loads(line[6:]) for line in streamed.text.splitlines() if line.startswith("data: {")]
    assert events[-1]["error"]["code"] == "bad_request"
    assert set(events[-1]["error"]) == {"message", "type", "param", "code"}


async def test_a_stream_says_what_waits_for_a_person_and_stays_alive(serve) -> None:
    clock = VirtualClock(auto=False)
    api, _ = await start(serve, clock)
    ada, seen = await api.open("ada"), ""
    async with ada.stream("POST", PATH, json=body("pay", stream=True), headers={"Idempotency-Key": "k"}) as response:
        async for line in response.aiter_lines():
            seen += line + "\n"
            if "sophon approvals approve" in line:
                [approval] = await api.host.services.store.approvals.list()
                assert approval.request.id in line
                await clock.advance(15)
            if line.startswith(": "):
                await api.host.approvals.decide(approval.request.id, Decision.approve(), "olga")
    assert "pay waits for" in seen
    assert ": waiting" in seen
    assert "paid" in seen
    assert [each.response["text"] for each in await api.host.services.store.runs.list()] == ["paid"]


async def test_a_stream_shows_a_question_of_the_agent_and_how_to_answer_it(serve) -> None:
    async def ask(request: ModelRequest) -> str | ModelResponse:
        if request.messages[-1].role == "tool":
            return request.messages[-1].content
        arguments = {"question": "Which\ncolour?", "choices": ["red", "blue"]}
        return ModelResponse("", [ToolCall("c", "chat.ask", arguments)])

    api = await serve(models=FunctionModel(ask), settings={"Hub": {"OpenAiApi": True}, "Approval": {"Questions": True}})
    ada, line, answer = await api.open("ada"), "", ""
    async with asyncio.timeout(30), ada.stream("POST", PATH, json=body("hi", stream=True)) as response:
        async for each in response.aiter_lines():
            answer += each
            if "The agent asks" in each:
                line = json.loads(each[6:])["choices"][0]["delta"]["content"]
                [approval] = await api.host.services.store.approvals.list()
                await api.host.approvals.decide(approval.request.id, Decision.answer("red"), "ada")
    assert line.startswith("\n\n[The agent asks: Which")
    assert "red" in line
    assert f"`sophon approvals answer {approval.request.id} TEXT`" in line
    assert "The person answered: red" in answer


@pytest.mark.parametrize("key", [b"k\xff", b"\xed\xa0\x80"])
async def test_a_key_that_is_not_utf_8_is_a_bad_request(serve, key) -> None:
    api, model = await start(serve)
    response = await (await api.open("ada")).post(PATH, json=body("one"), headers=[(b"Idempotency-Key", key)])
    assert (response.status_code, response.headers["x-should-retry"], model.turns) == (400, "false", 0)
    assert "not UTF-8" in response.json()["error"]["message"]


async def test_a_failure_that_nobody_has_foreseen_is_not_retried_either(serve, monkeypatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("unforeseen")

    monkeypatch.setattr(routes, "build_completion", fail)
    api, model = await start(serve)
    response = await send_as_the_sdk(await api.open("ada"), body("one"))
    assert (response.status_code, response.headers["x-should-retry"], model.turns) == (500, "false", 1)
    assert response.json()["error"]["type"] == "server_error"


def test_only_what_did_not_run_may_be_sent_again() -> None:
    full = payload_of_turn("rate_limited", "full", VirtualClock().now())
    assert to_error_headers(full, has_run=False) == {"x-should-retry": "true", "Retry-After": "60"}
    assert to_error_headers(full, has_run=True)["x-should-retry"] == "false"


def test_the_wait_is_the_one_that_the_error_tells() -> None:
    now = VirtualClock().now()
    error = RateLimited("p/m: HTTP 429")
    error.set_unavailable_until(now + timedelta(seconds=1800))
    for told, seconds in ((str(error), "1800"), ("m; try again after tomorrow", "60")):
        assert to_error_headers(payload_of_turn("rate_limited", told, now), has_run=True)["Retry-After"] == seconds
