"""A Graph API server on loopback that accepts nothing that Meta would refuse, and fails when it is told to.

Every message is read into a strict model of its documented shape; what does not fit is noted in `problems`, which every
test expects to be empty.
"""

import asyncio
import base64
import hashlib
import hmac
import re
from collections import deque
from collections.abc import Iterator
from typing import Annotated, Any, Literal

from aiohttp import ClientSession, web
from aiohttp.test_utils import TestServer
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, field_validator, model_validator

NUMBER_ID, TOKEN, SECRET, WORD = "106500000000001", "EAAG-test-token", "app secret", "our own word"


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Text(Strict):
    body: str = Field(min_length=1, max_length=4096)
    preview_url: bool


class Reply(Strict):
    id: str = Field(min_length=1, max_length=256)
    title: str = Field(min_length=1, max_length=20)


class ReplyButton(Strict):
    type: Literal["reply"]
    reply: Reply


class Action(Strict):
    buttons: list[ReplyButton] = Field(min_length=1, max_length=3)

    @field_validator("buttons")
    @classmethod
    def unique(cls, buttons: list[ReplyButton]) -> list[ReplyButton]:
        assert len({each.reply.title for each in buttons}) == len(buttons), "titles are unique"
        return buttons


class Body(Strict):
    text: str = Field(min_length=1, max_length=1024)


class Interactive(Strict):
    type: Literal["button"]
    body: Body
    action: Action


class Row(Strict):
    id: str = Field(min_length=1, max_length=200)
    title: str = Field(min_length=1, max_length=24)
    description: str | None = Field(default=None, min_length=1, max_length=72)


class Section(Strict):
    """Only one of several sections needs a title."""

    rows: list[Row] = Field(min_length=1, max_length=10)


class ListAction(Strict):
    button: str = Field(min_length=1, max_length=20)
    sections: list[Section] = Field(min_length=1, max_length=1)

    @field_validator("sections")
    @classmethod
    def unique(cls, sections: list[Section]) -> list[Section]:
        ids = [row.id for section in sections for row in section.rows]
        assert len(set(ids)) == len(ids), "ids are unique"
        return sections


class InteractiveList(Strict):
    type: Literal["list"]
    body: Body
    action: ListAction


class Context(Strict):
    message_id: str = Field(min_length=1)


class Message(Strict):
    messaging_product: Literal["whatsapp"]
    recipient_type: Literal["individual"]
    to: str | None = None
    recipient: str | None = None
    context: Context | None = None

    @model_validator(mode="after")
    def addressed(self) -> "Message":
        assert (self.to is None) != (self.recipient is None), "to one place"
        return self


class TextMessage(Message):
    type: Literal["text"]
    text: Text


class ButtonMessage(Message):
    type: Literal["interactive"]
    interactive: Interactive | InteractiveList


class Reaction(Strict):
    """An emoji, or nothing to take the reaction back."""

    message_id: str = Field(min_length=1)
    emoji: str = Field(max_length=16)


class ReactionMessage(Message):
    type: Literal["reaction"]
    reaction: Reaction

    @model_validator(mode="after")
    def no_reply(self) -> "ReactionMessage":
        assert self.context is None, "a reaction names its message itself"
        return self


class Media(Strict):
    id: str = Field(min_length=1)


class Captioned(Media):
    caption: str | None = Field(default=None, min_length=1, max_length=1024)


class Document(Captioned):
    filename: str = Field(min_length=1, max_length=240)


class ImageMessage(Message):
    type: Literal["image"]
    image: Captioned


class VideoMessage(Message):
    type: Literal["video"]
    video: Captioned


class Audio(Media):
    voice: bool = False


class AudioMessage(Message):
    type: Literal["audio"]
    audio: Audio


class DocumentMessage(Message):
    type: Literal["document"]
    document: Document


class Parameter(Strict):
    type: Literal["text"]
    text: str = Field(min_length=1, max_length=1024)


class Component(Strict):
    type: Literal["body"]
    parameters: list[Parameter] = Field(min_length=1)


class Language(Strict):
    code: str = Field(min_length=2)


class Template(Strict):
    name: str = Field(min_length=1, max_length=512)
    language: Language
    components: list[Component] = Field(default=[], max_length=1)


class TemplateMessage(Message):
    type: Literal["template"]
    template: Template


class Indicator(Strict):
    type: Literal["text"]


class Read(Strict):
    messaging_product: Literal["whatsapp"]
    status: Literal["read"]
    message_id: str = Field(min_length=1)
    typing_indicator: Indicator


OUTGOING: TypeAdapter[Any] = TypeAdapter(
    Annotated[
        TextMessage
        | ButtonMessage
        | ReactionMessage
        | ImageMessage
        | VideoMessage
        | AudioMessage
        | DocumentMessage
        | TemplateMessage
        | Read,
        Field(union_mode="left_to_right"),
    ]
)


MEGABYTE = 1024 * 1024
LARGEST = {"image": 5 * MEGABYTE, "audio": 16 * MEGABYTE, "video": 16 * MEGABYTE, "document": 100 * MEGABYTE}
SHOWN = {
    "image": {"image/jpeg", "image/png"},
    "audio": {"audio/aac", "audio/amr", "audio/mp4", "audio/mpeg", "audio/ogg"},
    "video": {"video/mp4", "video/3gpp"},
}


class GraphApi:
    """One number's server. What is put into `answers` is said before the usual: (status, error code), HANG, CUT;
    None for the usual one."""

    HANG, CUT = "hang", "cut"

    def __init__(self) -> None:
        self.answers: deque[tuple[int, int] | str | None] = deque()
        self.messages: list[dict[str, Any]] = []
        self.refused: list[dict[str, Any]] = []
        """What a closed window or the list of templates did not let through."""
        self.reads: list[str] = []
        self.problems: list[str] = []
        self.files: dict[str, bytes] = {}
        self.uploads: dict[str, tuple[str, str, bytes]] = {}
        """By id: name, media type and content."""
        self.declared: dict[str, dict[str, Any]] = {}
        self.asked = asyncio.Event()
        self.news = asyncio.Event()
        self.knows_number = True
        self.webhooks: dict[str, str] = {}
        """Of the number (`phone_number`) and its app (`application`)."""
        self.configured = 0
        self.templates: dict[tuple[str, str], int] = {}
        """The number of parameters of each approved template, by its name and language."""
        self.closed: set[str] = set()
        """Who has not written for 24 hours."""
        app = web.Application(client_max_size=128 * MEGABYTE)
        app.add_routes(
            [
                web.post(f"/{NUMBER_ID}/messages", self._message),
                web.post(f"/{NUMBER_ID}/media", self._upload),
                web.post(f"/{NUMBER_ID}", self._configure),
                web.get("/files/{id}", self._file),
                web.get("/{id}", self._object),
            ]
        )
        self.server = TestServer(app)

    @property
    def url(self) -> str:
        return str(self.server.make_url("")).rstrip("/")

    async def until(self, count: int) -> None:
        """Wait until so many messages were sent."""
        async with asyncio.timeout(30):
            while len(self.messages) < count:
                self.news.clear()
                await self.news.wait()

    async def _message(self, request: web.Request) -> web.StreamResponse:
        self.asked.set()
        if (refusal := await self._refused(request)) is not None:
            return refusal
        body = await request.json()
        try:
            OUTGOING.validate_python(body)
        except ValidationError as error:
            self.problems.append(str(error))
        self.problems.extend(self._shown(body))
        if body.get("status") == "read":
            self.reads.append(body["message_id"])
            return web.json_response({"success": True})
        if (code := self._find_window_error(body)) is not None:
            self.refused.append(body)
            self.news.set()
            return _error(400, code)
        self.messages.append(body)
        self.news.set()
        return web.json_response(
            {"messaging_product": "whatsapp", "messages": [{"id": f"wamid.OUT{len(self.messages)}"}]}
        )

    def _find_window_error(self, body: dict[str, Any]) -> int | None:
        """Return the error of free text after 24 hours, and of a template that is not as it was approved."""
        if body["type"] != "template":
            return 131047 if body.get("to", body.get("recipient")) in self.closed else None
        template = body["template"]
        expected = self.templates.get((template["name"], template["language"]["code"]))
        if expected is None:
            return 132001
        texts = [each["text"] for part in template.get("components", []) for each in part["parameters"]]
        if len(texts) != expected:
            return 132000
        return 132018 if any(re.search(r"[\n\t]| {5}", text) for text in texts) else None

    def _shown(self, body: dict[str, Any]) -> Iterator[str]:
        kind = body.get("type", "")
        if kind not in LARGEST:
            return
        if body[kind]["id"] not in self.uploads:
            yield f"there is no file {body[kind]['id']}"
            return
        _, media_type, content = self.uploads[body[kind]["id"]]
        if len(content) > LARGEST[kind] or media_type not in SHOWN.get(kind, {media_type}):
            yield f"{len(content)} bytes of {media_type} as {kind}"

    async def _upload(self, request: web.Request) -> web.StreamResponse:
        form = await request.post()
        if (refusal := await self._refused(request)) is not None:
            return refusal
        file = form["file"]
        assert isinstance(file, web.FileField)
        if set(form) != {"messaging_product", "type", "file"} or form["messaging_product"] != "whatsapp":
            self.problems.append(f"an upload with {dict(form)}")
        if form["type"] != file.content_type:
            self.problems.append(f"{form['type']} that is {file.content_type}")
        media_id = f"up{len(self.uploads) + 1}"
        self.uploads[media_id] = (file.filename, file.content_type, file.file.read())
        return web.json_response({"id": media_id})

    async def _configure(self, request: web.Request) -> web.StreamResponse:
        """Set the webhook of the number, if it answers the verification request as Meta's documentation asks."""
        if (refusal := await self._refused(request)) is not None:
            return refusal
        body = await request.json()
        wanted = body["webhook_configuration"]
        if set(body) != {"webhook_configuration"} or set(wanted) != {"override_callback_uri", "verify_token"}:
            self.problems.append(f"a configuration of {sorted(wanted)}")
        query = {"hub.mode": "subscribe", "hub.challenge": "1158201444", "hub.verify_token": wanted["verify_token"]}
        async with ClientSession() as http, http.get(wanted["override_callback_uri"], params=query) as answer:
            if answer.status != 200 or await answer.text() != query["hub.challenge"]:
                return _error(400, 2200)
        self.configured += 1
        self.webhooks["phone_number"] = wanted["override_callback_uri"]
        self.news.set()
        return web.json_response({"success": True})

    async def _object(self, request: web.Request) -> web.StreamResponse:
        if (refusal := await self._refused(request)) is not None:
            return refusal
        wanted = request.match_info["id"]
        proof = hmac.new(SECRET.encode(), TOKEN.encode(), "sha256").hexdigest()
        if request.query.get("appsecret_proof", proof) != proof:
            return _error(400, 100)
        if wanted == NUMBER_ID and self.knows_number:
            return web.json_response(
                {"display_phone_number": "+1 555 000 1111", "verified_name": "Sophon", "id": wanted}
                | ({"webhook_configuration": self.webhooks} if self.webhooks else {})
            )
        if wanted in self.files:
            content = self.files[wanted]
            told = {"url": f"{self.url}/files/{wanted}", "file_size": len(content)}
            told["sha256"] = base64.b64encode(hashlib.sha256(content).digest()).decode()
            return web.json_response({**told, **self.declared.get(wanted, {})})
        return _error(400, 100)

    async def _file(self, request: web.Request) -> web.StreamResponse:
        if (refusal := await self._refused(request)) is not None:
            return refusal
        return web.Response(body=self.files[request.match_info["id"]])

    async def _refused(self, request: web.Request) -> web.StreamResponse | None:
        if request.headers.get("Authorization") != f"Bearer {TOKEN}":
            return _error(401, 190)
        if not self.answers:
            return None
        answer = self.answers.popleft()
        if answer is None:
            return None
        if answer == self.HANG:
            await asyncio.Event().wait()
        if isinstance(answer, str):
            assert request.transport is not None
            request.transport.abort()
            return web.Response()
        return _error(*answer)


def _error(status: int, code: int) -> web.Response:
    error = {
        "message": f"(#{code}) told by Meta for {TOKEN}",
        "code": code,
        "error_data": {"details": f"details {code}"},
    }
    return web.json_response({"error": error}, status=status)
