"""Killed while answers wait and leave: each arrives, in order, and twice only where it says that it may be a repeat."""

import asyncio
import os
import random
from collections import Counter, defaultdict
from pathlib import Path

from aiohttp import web
from aiohttp.test_utils import TestServer

from sophon_channels.telegram.rendering import REPEAT_MARK
from sophon_hosting.channels.outbound.outbox_worker import MAX_CONCURRENT_CHATS
from sophon_hosting.store.factory import host_store_from_url
from tests.fork_server import ForkedProcess

SCRIPT = Path(__file__).with_name("killable_sender.py")
SLOW_SECONDS = 0.2


class Platform:
    """A Bot API and Graph API server whose mood is drawn from a seed; a text meets at most one doubtful failure."""

    def __init__(self, chance: random.Random) -> None:
        self.arrived: dict[str, list[str]] = defaultdict(list)
        self.asked = self.doubts = 0
        self._chance = chance
        self._moods: dict[str, list[str]] = {}
        self._news = asyncio.Condition()

    async def handle(self, request: web.Request) -> web.Response:
        method = request.match_info["method"]
        if method == "messages":
            body = await request.json()
            return await self._send(body["to"], body["text"]["body"], request)
        if method == "getUpdates":
            await asyncio.Event().wait()
        if method == "getMe":
            return answer({"id": 123456, "is_bot": True, "first_name": "Sophon", "username": "sophon_bot"})
        if method != "sendMessage":
            return answer({"url": ""} if method == "getWebhookInfo" else True)
        form = await request.post()
        return await self._send(str(form["chat_id"]), str(form["text"]), request)

    async def until_asked(self, times: int) -> None:
        async with self._news:
            await self._news.wait_for(lambda: self.asked >= times)

    async def _send(self, chat: str, text: str, request: web.Request) -> web.Response:
        async with self._news:
            self.asked += 1
            self._news.notify_all()
        moods = self._moods.setdefault(text.removeprefix(REPEAT_MARK), self._draw())
        match moods.pop() if moods else "well":
            case "limit" if request.match_info["method"] != "messages":  # there, it stops all chats for seconds
                return failure(429, "Too Many Requests: retry after 1", retry_after=1)
            case "limit" | "error":
                return failure(500, "Internal Server Error")
            case "lost":  # a proxy lost the request
                self.doubts += 1
                return web.Response(status=502, text="<html>Bad Gateway</html>")
            case "cut":  # it arrived, and its answer did not
                self.doubts += 1
                self.arrived[chat].append(text)
                assert request.transport is not None
                request.transport.abort()
            case "slow":
                self.arrived[chat].append(text)
                await asyncio.sleep(SLOW_SECONDS)
                return answer({"message_id": self.asked, "date": 1, "chat": {"id": int(chat), "type": "private"}})
            case _:
                self.arrived[chat].append(text)
        return answer({"message_id": self.asked, "date": 1, "chat": {"id": int(chat), "type": "private"}})

    def _draw(self) -> list[str]:
        moods = self._chance.choices(["slow", "limit", "error"], weights=[4, 1, 1], k=self._chance.randrange(3))
        doubt = self._chance.choice(["lost", "cut", "", "", "", "", "", ""])
        return [*moods, *([doubt] if doubt else [])]


async def test_every_answer_arrives_whenever_the_sender_is_killed(tmp_path: Path, seed: int) -> None:
    await kill_the_sender(tmp_path, seed=seed, chats=30, answers=4, kills=5)


async def kill_the_sender(
    folder: Path, *, seed: int, chats: int, answers: int, kills: int, platform_name: str = "telegram"
) -> None:
    """Deliver so many answers to each chat while the sender is killed, and compare what arrived."""
    chance = random.Random(seed)
    platform = Platform(chance)
    app = web.Application()
    app.router.add_post("/{account}/{method}", platform.handle)
    app.router.add_get("/{account}", get_number)
    server = TestServer(app, handler_cancellation=True)
    await server.start_server()
    arguments = [str(folder), platform_name, str(server.make_url("/")).rstrip("/"), str(chats), str(answers)]
    try:
        for _ in range(kills):
            process = ForkedProcess(arguments, folder, os.environ, script=SCRIPT)
            await platform.until_asked(platform.asked + chance.randrange(1, chats * answers // (2 * kills)))
            process.kill()
            await asyncio.to_thread(process.communicate)
        process = ForkedProcess(arguments, folder, os.environ, script=SCRIPT)
        _, errors = await asyncio.to_thread(process.communicate)
        assert process.returncode == 0, errors
    finally:
        await server.close()
    check_what_arrived(platform, chats, answers)
    await check_what_is_stored(folder, platform, chats * answers, kills)


def check_what_arrived(platform: Platform, chats: int, answers: int) -> None:
    """Each answer at least once and in order; a second copy says that it may be a repeat."""
    for chat in map(str, range(1, chats + 1)):
        texts = [text.removeprefix(REPEAT_MARK) for text in platform.arrived[chat]]
        assert list(dict.fromkeys(texts)) == [f"{chat}/{number}" for number in range(answers)]
        seen: set[str] = set()
        for text in platform.arrived[chat]:
            name = text.removeprefix(REPEAT_MARK)
            assert name not in seen or text.startswith(REPEAT_MARK), f"{text} is a repeat that does not say so"
            seen.add(name)


async def check_what_is_stored(folder: Path, platform: Platform, total: int, kills: int) -> None:
    """Nothing is dead, and in doubt is only what had left."""
    store = host_store_from_url("sqlite:///sender.db", folder=folder)
    await store.open()
    entries = await store.outbox.list(limit=10_000)
    await store.close()
    assert Counter(entry.status for entry in entries) == {"sent": total}
    assert max(entry.attempts for entry in entries) <= 3
    assert max(entry.interruptions for entry in entries) <= kills
    assert sum(entry.doubtful for entry in entries) <= platform.doubts + kills * MAX_CONCURRENT_CHATS


async def get_number(request: web.Request) -> web.Response:
    return web.json_response({"display_phone_number": "1"})


def answer(result: object) -> web.Response:
    return web.json_response({"ok": True, "result": result, "messages": [{"id": "wamid.1"}]})


def failure(code: int, description: str, **parameters: int) -> web.Response:
    error = {"code": 131016 if code == 500 else 130429, "message": description}
    told = {"error": error, "ok": False, "error_code": code, "description": description, "parameters": parameters}
    return web.json_response(told, status=code)
