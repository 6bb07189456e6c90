"""A Bot API server on loopback that accepts nothing that Telegram would refuse, and fails when it is told to.

Every request is read into aiogram's own model of the method; what a model has no field for, and what breaks a published
limit, is noted in `problems`, which every test expects to be empty.
"""

import asyncio
import json
import re
from collections import defaultdict, deque
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Self

from aiohttp import web
from aiohttp.test_utils import TestServer

from sophon_channels.text.utf16 import utf16_length
from tests.channels.telegram.telegram_html import Unreadable, read

if TYPE_CHECKING:
    from aiogram.types.base import TelegramObject

TOKEN = "123456:TEST-token_abcdefghijklmnopqrstuvwx"
BOT = {"id": 123456, "is_bot": True, "first_name": "Sophon", "username": "sophon_bot", "can_join_groups": True}

TEXTS = {"text", "parse_mode", "url", "secret_token", "action", "callback_query_id", "file_id"}
TEXTS |= {"caption", "photo", "document", "voice"}
ATTACHED = "attach://"
MEGABYTE = 1024 * 1024
LARGEST = {"photo": 10 * MEGABYTE, "document": 50 * MEGABYTE}
COMMAND = re.compile(r"[a-z0-9_]{1,32}")


@dataclass(frozen=True)
class Answer:
    """What the server says instead of doing what it was asked."""

    status: int = 200
    body: bytes = b""

    @classmethod
    def error(cls, code: int, description: str, **parameters: int) -> Self:
        told = {"ok": False, "error_code": code, "description": description, "parameters": parameters}
        return cls(code, json.dumps(told).encode())

    @classmethod
    def result(cls, result: object) -> Self:
        return cls(200, json.dumps({"ok": True, "result": result}).encode())


HANG = Answer(0, b"hang")
CUT = Answer(0, b"cut")


@dataclass
class Call:
    method: str
    fields: dict[str, Any]


@dataclass
class BotApi:
    """One bot's server. `script` an answer and the next call of that method gets it, before the usual ones."""

    me: dict[str, Any] = field(default_factory=lambda: dict(BOT))
    calls: list[Call] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    messages: dict[tuple[int, int], dict[str, Any]] = field(default_factory=dict)
    webhook: dict[str, Any] = field(default_factory=lambda: {"url": "", "pending_update_count": 0})
    files: dict[str, dict[str, Any]] = field(default_factory=dict)
    contents: dict[str, bytes] = field(default_factory=dict)
    uploads: list[tuple[str, str, bytes]] = field(default_factory=list)
    """Name, media type and content of what came with the calls."""
    held: set[str] = field(default_factory=set)
    """Ids of the files that were uploaded."""
    confirmed: int = 0
    token: str = TOKEN
    largest: dict[str, int] = field(default_factory=lambda: dict(LARGEST))
    base: str = ""

    def __post_init__(self) -> None:
        self._scripts: dict[str, deque[Answer]] = defaultdict(deque)
        self._updates: list[dict[str, Any]] = []
        self._given = 0
        self._changed = asyncio.Condition()

    def script(self, method: str, *answers: Answer) -> None:
        self._scripts[method].extend(answers)

    async def deliver(self, *updates: dict[str, Any]) -> None:
        """Updates for whoever polls."""
        self._updates.extend(updates)
        async with self._changed:
            self._changed.notify_all()

    async def called(self, method: str, times: int = 1) -> list[dict[str, Any]]:
        """The fields of the calls of a method, once there were so many."""
        async with self._changed:
            await self._changed.wait_for(lambda: len(self.of(method)) >= times)
        return self.of(method)

    async def until_shown(self, text: str) -> None:
        """Wait until a message with this text is sent, or a preview is edited into it."""
        shown = ("sendMessage", "editMessageText")
        async with self._changed:
            await self._changed.wait_for(
                lambda: any(call.method in shown and call.fields["text"] == text for call in self.calls)
            )

    async def until_confirmed(self, offset: int) -> None:
        async with self._changed:
            await self._changed.wait_for(lambda: self.confirmed >= offset)

    def of(self, method: str) -> list[dict[str, Any]]:
        return [call.fields for call in self.calls if call.method == method]

    @asynccontextmanager
    async def serving(self) -> AsyncGenerator[Self]:
        # Four seconds: before any clock runs, and not in every test process that only collects the tests.
        import_module("aiogram")
        app = web.Application(client_max_size=64 * MEGABYTE)
        app.router.add_post(f"/bot{self.token}/{{method}}", self._handle)
        app.router.add_get(f"/file/bot{self.token}/{{path:.+}}", self._give)
        app.router.add_post("/bot{token}/{method}", self._unknown)
        server = TestServer(app, handler_cancellation=True)
        await server.start_server()
        self.base = str(server.make_url("/")).rstrip("/")
        try:
            yield self
        finally:
            await server.close()

    async def _unknown(self, request: web.Request) -> web.Response:
        return _response(Answer.error(401, "Unauthorized"))

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        method = request.match_info["method"]
        fields = await self._read(method, request)
        async with self._changed:
            self.calls.append(Call(method, fields))
            self._changed.notify_all()
        if self._scripts[method]:
            return await self._scripted(self._scripts[method].popleft(), request)
        do = getattr(self, f"_{method}", None)
        return _response(Answer.error(404, "Not Found") if do is None else await do(fields))

    async def _scripted(self, answer: Answer, request: web.Request) -> web.StreamResponse:
        if answer is HANG:
            await asyncio.Event().wait()
        if answer is CUT:
            assert request.transport is not None
            request.transport.abort()
        return _response(answer)

    async def _read(self, name: str, request: web.Request) -> dict[str, Any]:
        form = await request.post()
        attached = {key: value for key, value in form.items() if isinstance(value, web.FileField)}
        model = getattr(import_module("aiogram.methods"), name[0].upper() + name[1:])
        fields = {
            key: value if key in TEXTS else json.loads(str(value)) for key, value in form.items() if key not in attached
        }
        self.problems.extend(self._attachments(name, fields, attached))
        self.problems.extend(f"{name} has no {key}" for key in fields if key not in model.model_fields)
        checked = model.model_validate(fields)
        self.problems.extend(f"{name}: {extra}" for extra in _extras(checked))
        self.problems.extend(f"{name}: {problem}" for problem in _limits(name, fields))
        return fields

    def _attachments(self, name: str, fields: dict[str, Any], attached: dict[str, web.FileField]) -> Iterator[str]:
        media = fields.get("media") if name == "sendMediaGroup" else None
        named = {each["media"]: each["type"] for each in media} if media else {}
        named |= {value: name.removeprefix("send").lower() for value in fields.values() if isinstance(value, str)}
        kinds = {key.removeprefix(ATTACHED): kind for key, kind in named.items() if key.startswith(ATTACHED)}
        if set(kinds) != set(attached):
            yield f"{name} names {set(kinds)}, and brings {set(attached)}"
        total = 0
        for key, file in attached.items():
            with file.file:  # nobody else closes it if the call is never answered
                content = file.file.read()
            total += len(content)
            self.uploads.append((file.filename, file.content_type, content))
            if kinds[key] == "voice" and not content.startswith(b"OggS"):
                yield f"{name} of what is not Ogg"
            if not 0 < len(content) <= self.largest.get(kinds[key], self.largest["document"]):
                yield f"{name} of {len(content)} bytes"
        if total > self.largest["document"]:
            yield f"{name} of {total} bytes in all"

    async def _sendMediaGroup(self, fields: dict[str, Any]) -> Answer:
        """Each file is a message of its own; a file that is unknown fails them all."""
        known = [each["media"] for each in fields["media"] if not each["media"].startswith(ATTACHED)]
        if any(file_id not in self.held for file_id in known):
            return Answer.error(400, "Bad Request: wrong file identifier/HTTP URL specified")
        told = []
        for each in fields["media"]:
            alone = {key: value for key, value in fields.items() if key != "media"}
            answer = await self._send_file({**alone, each["type"]: each["media"]}, each["type"])
            if answer.status != 200:
                return answer
            told.append({**json.loads(answer.body)["result"], "media_group_id": "g"})
        return Answer.result(told)

    async def _sendPhoto(self, fields: dict[str, Any]) -> Answer:
        return await self._send_file(fields, "photo")

    async def _sendVoice(self, fields: dict[str, Any]) -> Answer:
        return await self._send_file(fields, "voice")

    async def _sendDocument(self, fields: dict[str, Any]) -> Answer:
        return await self._send_file(fields, "document")

    async def _send_file(self, fields: dict[str, Any], kind: str) -> Answer:
        """A file that was uploaded gets an id, by which it can be sent again as the same kind."""
        file_id = fields[kind]
        if file_id.startswith(ATTACHED):
            file_id = f"{kind}-{len(self.held)}"
            self.held.add(file_id)
        elif file_id not in self.held or not file_id.startswith(kind):
            return Answer.error(400, "Bad Request: wrong file identifier/HTTP URL specified")
        answer = await self._sendMessage(fields)
        told = json.loads(answer.body)
        if told["ok"]:
            sizes = [{"file_id": "small", "file_unique_id": "s", "width": 9, "height": 9}]
            held = {"file_id": file_id, "file_unique_id": "u", "width": 90, "height": 90}
            told["result"] |= {kind: [*sizes, held] if kind == "photo" else held}
        return Answer(answer.status, json.dumps(told).encode())

    async def _getMe(self, fields: dict[str, Any]) -> Answer:
        return Answer.result(self.me)

    async def _getWebhookInfo(self, fields: dict[str, Any]) -> Answer:
        return Answer.result(self.webhook)

    async def _setWebhook(self, fields: dict[str, Any]) -> Answer:
        self.webhook["url"] = fields["url"]
        return Answer.result(True)

    async def _deleteWebhook(self, fields: dict[str, Any]) -> Answer:
        if fields.get("drop_pending_updates"):
            self.problems.append("pending updates are never dropped")
        self.webhook["url"] = ""
        return Answer.result(True)

    async def _setMyCommands(self, fields: dict[str, Any]) -> Answer:
        return Answer.result(True)

    async def _sendChatAction(self, fields: dict[str, Any]) -> Answer:
        return Answer.result(True)

    async def _setMessageReaction(self, fields: dict[str, Any]) -> Answer:
        return Answer.result(True)

    async def _answerCallbackQuery(self, fields: dict[str, Any]) -> Answer:
        return Answer.result(True)

    async def _getUpdates(self, fields: dict[str, Any]) -> Answer:
        if self.webhook["url"]:
            return Answer.error(409, "Conflict: can't use getUpdates method while webhook is active")
        offset = fields.get("offset")
        if offset is not None:
            self._confirm(offset)
        async with self._changed:
            self._changed.notify_all()
            await self._changed.wait_for(lambda: bool(self._updates))
        given = self._updates[: fields["limit"]]
        self._given = max(update["update_id"] for update in given)
        return Answer.result(given)

    def _confirm(self, offset: int) -> None:
        if offset != self._given + 1 or offset == self.confirmed:
            self.problems.append(f"offset {offset} confirms what was not given, or twice")
        self.confirmed = offset
        self._updates = [update for update in self._updates if update["update_id"] >= offset]

    async def _sendMessage(self, fields: dict[str, Any]) -> Answer:
        if fields.get("message_thread_id") == 1:
            return Answer.error(400, "Bad Request: message thread not found")
        number = 1000 + len(self.messages)
        self.messages[fields["chat_id"], number] = fields
        return Answer.result({"message_id": number, "date": 1, "chat": {"id": fields["chat_id"], "type": "private"}})

    async def _deleteMessage(self, fields: dict[str, Any]) -> Answer:
        if self.messages.pop((fields["chat_id"], fields["message_id"]), None) is None:
            return Answer.error(400, "Bad Request: message to delete not found")
        return Answer.result(True)

    async def _editMessageText(self, fields: dict[str, Any]) -> Answer:
        key = (fields["chat_id"], fields["message_id"])
        before = self.messages.get(key)
        if before is None:
            return Answer.error(400, "Bad Request: message to edit not found")
        if all(before.get(part) == fields.get(part) for part in ("text", "reply_markup")):
            return Answer.error(400, "Bad Request: message is not modified: specified new message content is the same")
        self.messages[key] = fields
        return Answer.result({"message_id": key[1], "date": 1, "chat": {"id": key[0], "type": "private"}})

    async def _getFile(self, fields: dict[str, Any]) -> Answer:
        file = self.files.get(fields["file_id"])
        return Answer.result(file) if file else Answer.error(400, "Bad Request: wrong file_id")

    async def _give(self, request: web.Request) -> web.StreamResponse:
        content = self.contents.get(request.match_info["path"])
        if content is None:
            return web.Response(status=404)
        response = web.StreamResponse()
        response.enable_chunked_encoding()
        await response.prepare(request)
        for start in range(0, len(content), 65536):
            await response.write(content[start : start + 65536])
        return response


def _response(answer: Answer) -> web.Response:
    return web.Response(status=answer.status, body=answer.body, content_type="application/json")


def _extras(model: "TelegramObject") -> Iterator[str]:
    """What aiogram kept only because it tolerates the unknown."""
    yield from (f"{type(model).__name__} has no {key}" for key in model.model_extra or ())
    for name in type(model).model_fields:
        yield from _extras_of(getattr(model, name))


def _extras_of(value: object) -> Iterator[str]:
    if isinstance(value, import_module("aiogram.types.base").TelegramObject):
        yield from _extras(value)
    elif isinstance(value, list):
        for item in value:
            yield from _extras_of(item)


def _limits(method: str, fields: dict[str, Any]) -> Iterator[str]:
    check = _CHECKS.get(method)
    if check is not None:
        yield from check(fields)


def _message(fields: dict[str, Any]) -> Iterator[str]:
    yield from _readable(fields, "text", 4096)
    if not fields["link_preview_options"]["is_disabled"]:
        yield "a link preview"
    yield from _answering(fields)


def _file(fields: dict[str, Any]) -> Iterator[str]:
    if "caption" in fields:
        yield from _readable(fields, "caption", 1024)
    yield from _answering(fields)


def _album(fields: dict[str, Any]) -> Iterator[str]:
    """Bot API, sendMediaGroup: 2 to 10 items; documents and audio files only with their like; no buttons."""
    kinds = {each["type"] for each in fields["media"]}
    if not 2 <= len(fields["media"]) <= 10:
        yield f"an album of {len(fields['media'])}"
    if len(kinds) > 1 and not kinds <= {"photo", "video"}:
        yield f"an album of {sorted(kinds)}"
    if "reply_markup" in fields or any("caption" in each for each in fields["media"][1:]):
        yield "buttons, or a caption that is not on the first"
    for each in fields["media"]:
        yield from _file(each)
    yield from _answering(fields)


def _readable(fields: dict[str, Any], key: str, most: int) -> Iterator[str]:
    try:
        text = read(fields[key]) if fields.get("parse_mode") == "HTML" else fields[key]
    except Unreadable as error:
        yield f"can't parse entities: {error}"
        return
    if not 1 <= utf16_length(text) <= most or not text.strip():
        yield f"a {key} of {utf16_length(text)} units"


def _answering(fields: dict[str, Any]) -> Iterator[str]:
    if not fields.get("reply_parameters", {"allow_sending_without_reply": True})["allow_sending_without_reply"]:
        yield "an answer that fails once its question is deleted"
    rows = fields.get("reply_markup", {}).get("inline_keyboard", [])
    if sum(map(len, rows)) > 100 or any(not 1 <= len(row) <= 8 for row in rows):
        yield "too many buttons, or a row without"
    for button in (button for row in rows for button in row):
        if not 1 <= len(button["callback_data"].encode()) <= 64 or not button["text"]:
            yield f"button {button}"


def _reaction(fields: dict[str, Any]) -> Iterator[str]:
    if len(fields["reaction"]) > 1:
        yield "a bot has one reaction to a message"
    documented = import_module("inspect").getsource(import_module("aiogram.types.reaction_type_emoji"))
    for each in fields["reaction"]:
        if each["type"] != "emoji" or f'"{each["emoji"]}"' not in documented:
            yield f"REACTION_INVALID: {each}"


def _callback(fields: dict[str, Any]) -> Iterator[str]:
    if utf16_length(fields.get("text", "")) > 200:
        yield "a note of more than 200 units"


def _updates(fields: dict[str, Any]) -> Iterator[str]:
    if not fields.get("allowed_updates") or not 1 <= fields["limit"] <= 100 or not 0 < fields["timeout"] <= 50:
        yield f"{fields}"


def _commands(fields: dict[str, Any]) -> Iterator[str]:
    if not 1 <= len(fields["commands"]) <= 100:
        yield "as many commands as that"
    for command in fields["commands"]:
        if not COMMAND.fullmatch(command["command"]) or not 1 <= len(command["description"]) <= 256:
            yield f"{command}"


def _webhook(fields: dict[str, Any]) -> Iterator[str]:
    if not fields["url"].startswith("https://") or not re.fullmatch(r"[A-Za-z0-9_-]{1,256}", fields["secret_token"]):
        yield "address or secret"
    if not 1 <= fields["max_connections"] <= 100 or fields["drop_pending_updates"] or not fields["allowed_updates"]:
        yield f"{fields}"


_CHECKS = {
    "sendMessage": _message,
    "sendPhoto": _file,
    "sendDocument": _file,
    "sendMediaGroup": _album,
    "sendVoice": _file,
    "editMessageText": _message,
    "answerCallbackQuery": _callback,
    "setMessageReaction": _reaction,
    "getUpdates": _updates,
    "setMyCommands": _commands,
    "setWebhook": _webhook,
}
