"""Who is let in: by token, from which page, how many, and for how long without a name."""

import asyncio
import json

import pytest
import socketio
from aiohttp import WSMsgType, WSServerHandshakeError
from socketio.exceptions import ConnectionError as Refused

from sophon_hosting.client_api.authentication.login_throttle import FIRST_DELAY_SECONDS, FREE_FAILURES
from sophon_hosting.hub.limits import HubLimits

POLL = "/socket.io/?EIO=4&transport=polling"
WEBSOCKET = "/socket.io/?EIO=4&transport=websocket"


async def refusal(raw) -> dict:
    """The data of a CONNECT_ERROR in `/`."""
    text = await raw.next()
    assert text.startswith("44{"), text
    return json.loads(text[2:])


@pytest.mark.parametrize(
    "auth",
    ["", "{}", '{"token":null}', '{"token":""}', '{"token":"wrong"}', '{"token":5}', '"token-of-ada"', "[]", '["a"]'],
)
async def test_without_a_known_token_nobody_enters(house, auth: str) -> None:
    async with house.raw(None) as raw:
        await raw.say(f"40{auth}")
        refused = await refusal(raw)
        assert (refused["message"], refused["data"]["code"]) == ("unauthorized", "unauthorized")
        assert "Hub.Users" in refused["data"]["message"]
    assert house.hub.statistics().clients == 0


async def test_a_token_in_the_address_does_not_count(house) -> None:
    client = socketio.AsyncClient(reconnection=False)
    with pytest.raises(Refused):
        await client.connect(f"{house.url}?token=token-of-ada", transports=["websocket"])
    await client.disconnect()


@pytest.mark.parametrize("users", [{}])
async def test_a_host_without_users_lets_its_one_user_in(house, users) -> None:
    local = await house.peer(auth={})
    receipt = await local.done("send_message", {"content": "hello"})
    assert (await house.host.services.store.runs.get(receipt["task_id"])).owner == "local"


async def test_a_namespace_that_does_not_exist_is_refused_by_name(house) -> None:
    async with house.raw(None) as raw:
        await raw.say('40/nope,{"token":"token-of-ada"}')
        text = await raw.next()
        assert text.startswith("44/nope,{")
        assert json.loads(text.partition(",")[2])["data"]["code"] == "unknown_namespace"


async def test_only_operators_enter_the_operators_namespace(house) -> None:
    with pytest.raises(Refused):
        await house.peer("ada", "/operator")
    assert house.refusals[0]["data"]["code"] == "forbidden"
    olga = await house.peer("olga", "/operator")
    assert (await olga.done("list_sessions"))["items"] == []


async def test_a_type_error_at_the_door_happens_once(house, caplog) -> None:
    house.hub._access = object.__new__(BrokenAccess)
    async with house.raw(None) as raw:
        await raw.say("40")
        refused = await refusal(raw)
    assert (refused["message"], house.hub._access.asked) == ("internal", 1)
    assert refused["data"]["id"] in caplog.text


class BrokenAccess:
    asked = 0

    def authenticate(self, token):
        self.asked += 1
        raise TypeError("a mistake of ours")


async def test_entering_twice_is_refused(house) -> None:
    async with house.raw("ada") as raw:
        await raw.say('40{"token":"token-of-ada"}')
        assert (await raw.next()).startswith("44")
        await raw.say('421["list_tasks",{}]')
        assert json.loads((await raw.next())[3:])[0]["ok"] is True


ORIGINS = [("http://evil.example", 403), ("null", 403), ("", 200), ("OWN", 200)]


@pytest.mark.parametrize(("origin", "status"), ORIGINS)
async def test_a_foreign_page_gets_nothing_by_polling(house, origin: str, status: int) -> None:
    headers = {"Origin": origin.replace("OWN", house.url)} if origin else {}
    async with house.http.get(house.url + POLL, headers=headers) as answer:
        body = await answer.text()
        assert answer.status == status
    assert ("sid" in body) == (status == 200)
    assert house.hub.statistics().connections == (1 if status == 200 else 0)


@pytest.mark.parametrize(("origin", "status"), ORIGINS)
async def test_a_foreign_page_gets_no_websocket(house, origin: str, status: int) -> None:
    headers = {"Origin": origin.replace("OWN", house.url)} if origin else {}
    if status == 200:
        async with house.http.ws_connect(house.url + WEBSOCKET, headers=headers) as socket:
            assert (await socket.receive_str()).startswith("0")
        return
    with pytest.raises(WSServerHandshakeError) as refused:
        await house.http.ws_connect(house.url + WEBSOCKET, headers=headers)
    assert refused.value.status == status


@pytest.mark.parametrize("settings", [{"Hub": {"AllowedOrigins": ["https://chat.example"]}}])
@pytest.mark.parametrize(
    ("origin", "status"), [("https://chat.example", 200), ("http://evil.example", 403), ("OWN", 200)]
)
async def test_pages_that_are_allowed_may_connect_besides_the_own(house, settings, origin: str, status: int) -> None:
    async with house.http.get(house.url + POLL, headers={"Origin": origin.replace("OWN", house.url)}) as answer:
        assert answer.status == status


async def test_who_does_not_say_who_they_are_is_shown_out(house) -> None:
    async with house.raw(None) as raw:
        assert house.hub.statistics().connections == 1
        await house.clock.advance(10)
        assert await raw.end() == 1000
    assert house.hub.statistics().connections == 0


async def test_neither_does_a_wrong_token_keep_the_door_open(house) -> None:
    async with house.raw(None) as raw:
        await raw.say('40{"token":"wrong"}')
        await raw.next()
        await house.clock.advance(10)
        assert await raw.end() == 1000


async def test_who_has_left_the_last_namespace_is_shown_out_too(house) -> None:
    async with house.raw("ada") as raw:
        await house.clock.advance(60)
        assert house.hub.statistics().connections == 1
        await raw.say("41")
        await house.settled(lambda: house.hub.statistics().clients == 0)
        await house.clock.advance(10)
        assert await raw.end() == 1000


@pytest.mark.parametrize("limits", [HubLimits(max_unauthenticated_per_address=3)])
async def test_from_one_address_only_so_many_may_wait_at_the_door(house, limits) -> None:
    sockets = [await house.http.ws_connect(house.url + WEBSOCKET) for _ in range(3)]
    await sockets[1].receive_str()
    await sockets[1].send_str('40{"token":"token-of-ada"}')
    await house.settled(lambda: house.hub.statistics().clients == 1)
    sockets += [await house.http.ws_connect(house.url + WEBSOCKET) for _ in range(2)]
    assert (await sockets[0].receive_str()).startswith("0")
    assert (await sockets[0].receive()).type in (WSMsgType.CLOSE, WSMsgType.CLOSED)  # the oldest makes room
    await house.settled(lambda: house.hub.statistics().connections == 4)
    assert house.hub.statistics().clients == 1
    for each in sockets:
        await each.close()


@pytest.mark.parametrize("limits", [HubLimits(max_unauthenticated_per_address=3)])
async def test_who_only_opens_connections_locks_nobody_out(house, limits) -> None:
    for _ in range(20):
        async with house.http.get(house.url + POLL) as answer:
            assert answer.status == 200
    owner = await house.peer("ada")
    assert (await owner.done("list_tasks"))["items"] == []
    assert house.hub.statistics().connections <= 4


@pytest.mark.parametrize("limits", [HubLimits(max_connections_per_user=2)])
async def test_one_user_does_not_take_all_connections(house, limits) -> None:
    first, _second = await house.peer("ada"), await house.peer("ada")
    with pytest.raises(Refused):
        await house.peer("ada")
    assert house.refusals[-1]["message"] == "too_many_connections"
    assert await house.peer("bob")
    await first.close()
    await house.settled(lambda: house.hub.statistics().clients == 2)
    assert await house.peer("ada")


async def test_wrong_tokens_are_answered_ever_later_and_the_right_one_at_once(house) -> None:
    async with house.raw(None) as raw:
        for number in range(FREE_FAILURES):
            await raw.say(f'40{{"token":"wrong-{number}"}}')
            await refusal(raw)
        await raw.say('40{"token":"wrong-again"}')
        await house.settled(lambda: FIRST_DELAY_SECONDS in house.clock.slept)
        assert await house.peer("ada")  # from the same address
        await house.clock.advance(FIRST_DELAY_SECONDS)
        assert (await refusal(raw))["message"] == "unauthorized"


@pytest.mark.parametrize("limits", [HubLimits(max_connections=2)])
async def test_in_all_only_so_many_may_be_open(house, limits) -> None:
    first, _second = await house.peer(), await house.peer("bob")
    async with house.http.get(house.url + POLL) as answer:
        assert (answer.status, (await answer.json())["error"]["code"]) == (503, "too_many_connections")
    await first.close()
    await house.settled(lambda: house.hub.statistics().connections == 1)
    assert await house.peer()


async def test_a_client_that_begins_with_polling_goes_on_with_a_websocket(house) -> None:
    ada = await house.peer(transports=["polling", "websocket"])
    assert ada.client.transport() == "websocket"
    receipt = await ada.done("send_message", {"content": "hello"})
    assert await ada.ended(receipt["task_id"]) == "HELLO"


async def test_a_host_that_stops_says_goodbye_in_a_way_after_which_clients_come_back(house) -> None:
    async with house.raw("ada") as raw:
        stopping = asyncio.create_task(house.hub.stop())
        # Not "1", the end of Engine.IO: after that clients in Python stay away.
        assert (await raw.socket.receive()).type is WSMsgType.CLOSE
        await stopping
    with pytest.raises(WSServerHandshakeError) as refused:
        await house.http.ws_connect(house.url + WEBSOCKET)
    assert refused.value.status == 503
