"""A reply above `AgentExecution.MaxReplyBytes` has one outcome, `response_too_large`, that every client shows."""

from typing import Any

import httpx
import openai
import pytest

from sophon.events import TaskFailed
from sophon_hosting.programs.chat.approval_prompt import TerminalApprovalGate
from sophon_hosting.programs.chat.chat_session import TurnChoices
from sophon_hosting.programs.chat.remote_turn import RemoteTurnClient

CODE = "response_too_large"
LIMIT = 100_000
TOO_MUCH = f"write {5 * LIMIT}"
ENDS = ("task_completed", "task_failed", "task_cancelled")
ADA = {"Authorization": "Bearer token-of-ada"}


async def test_socketio_hears_one_failure_with_what_was_streamed(serve: Any) -> None:
    served = await serve(max_reply_bytes=LIMIT)
    listener = await served.listener()
    await listener.call("send_message", {"content": TOO_MUCH, "session_id": "s"})
    outcome = await listener.outcome()
    assert [each["error"]["code"] for each in listener.of(*ENDS)] == [CODE]
    assert "AgentExecution.MaxReplyBytes" in outcome["error"]["message"]
    assert listener.of("task_failed") == [outcome]


async def test_http_tells_it_with_the_task(serve: Any) -> None:
    served = await serve(max_reply_bytes=LIMIT)
    listener = await served.listener()
    await listener.call("join_session", {"session_id": "s"})
    async with httpx.AsyncClient(base_url=served.url, headers=ADA) as http:
        sent = (await http.post("/api/sessions/s/messages", json={"content": TOO_MUCH})).json()
        await listener.outcome()
        task = (await http.get(f"/api/tasks/{sent['task_id']}")).json()
    assert (task["status"], task["error"]["code"]) == ("failed", CODE)
    assert "AgentExecution.MaxReplyBytes" in task["error"]["message"]


async def ask(client: openai.AsyncOpenAI, *, stream: bool) -> None:
    """Ask for too much, and read what comes: an answer that is not streamed fails at once."""
    answer: Any = await client.chat.completions.create(
        model="long", messages=[{"role": "user", "content": TOO_MUCH}], stream=stream
    )
    assert stream
    finished = [each async for each in answer if each.choices and each.choices[0].finish_reason]
    assert not finished


@pytest.mark.parametrize("stream", [True, False])
async def test_the_openai_interface_reports_an_error(serve: Any, stream: bool) -> None:
    served = await serve(max_reply_bytes=LIMIT)
    async with openai.AsyncOpenAI(base_url=f"{served.url}/v1", api_key="token-of-ada", max_retries=0) as client:
        with pytest.raises(openai.APIError) as failure:
            await ask(client, stream=stream)
    assert failure.value.code == CODE


async def test_the_terminal_client_of_a_host_ends_with_it(serve: Any) -> None:
    served = await serve(max_reply_bytes=LIMIT)
    gate: TerminalApprovalGate = None  # type: ignore[assignment] # nothing is asked
    events: list[Any] = []
    turn = RemoteTurnClient(served.url, "token-of-ada", gate, events.append, lambda line: None)
    response = await turn.run_turn(TOO_MUCH, TurnChoices(session="s"))
    assert (response.finish_reason, response.detail["code"]) == ("error", CODE)
    assert "AgentExecution.MaxReplyBytes" in response.detail["message"]
    assert len([each for each in events if isinstance(each, TaskFailed)]) == 1
