import pytest

from sophon.errors import InputError
from sophon_hosting.client_api.client_errors import Forbidden
from sophon_hosting.client_api.client_message import ClientMessage
from sophon_hosting.features.approvals.operations import decide_approval, get_approval, list_approvals
from sophon_hosting.features.sessions.operations import list_sessions
from sophon_hosting.features.tasks.operations import list_tasks
from sophon_hosting.features.tasks.sending import send
from tests.hosting.calls import call


def message(content: str = "hello", **more) -> ClientMessage:
    return ClientMessage(content, **{"session_id": "s", **more})


async def test_the_same_client_message_id_is_the_same_task_for_one_user_only(office) -> None:
    first = await send(office.ada, message(client_message_id="1"))
    again = await send(office.ada, message("changed", client_message_id="1"))
    other = await send(office.bob, message(client_message_id="1", session_id="b"))
    assert (again.task_id, again.created) == (first.task_id, False)
    assert other.created


async def test_an_operator_sees_decides_and_stops_everywhere_but_writes_at_home(office) -> None:
    receipt = await send(office.ada, message("pay Bob"))
    await office.reached(receipt.task_id, "suspended")
    olga = office.operator
    assert [each["session_id"] for each in (await call(olga, list_sessions, everything=True))["items"]] == ["s"]
    listed = (await call(olga, list_tasks, everything=True))["items"]
    assert [each["task_id"] for each in listed] == [receipt.task_id]
    [asked] = (await call(olga, list_approvals, everything=True))["items"]
    with pytest.raises(Forbidden, match="choose another id"):
        await send(olga, message())
    await call(olga, decide_approval, approval_id=asked["approval_id"], decision="approve")
    assert await office.over(receipt.task_id) == "completed"
    assert (await call(office.ada, get_approval, approval_id=asked["approval_id"]))["decided_by"] == "olga"
    assert (await call(olga, list_approvals, everything=True))["items"] == []


@pytest.mark.parametrize("session_id", ["", "x" * 129, "a\nb", "\u202eevil", "a\x00", "\ud800", "a\u241fb"])
async def test_an_id_that_cannot_be_shown_is_refused(office, session_id: str) -> None:
    with pytest.raises(InputError):
        await send(office.ada, message(session_id=session_id))
    with pytest.raises(InputError):
        await office.ada.sessions.find_or_create(session_id)
    assert (await call(office.ada, list_sessions))["items"] == []
