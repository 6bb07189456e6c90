"""Incoming webhooks: `POST /webhooks/receive/{id}`, signed, becomes a message that is run like any other."""

import hashlib
import json
import logging
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from aiohttp import web

from sophon._python.lazy_pattern import lazy_pattern
from sophon._python.rate_limited_log import RateLimitedLog
from sophon.clock import Clock
from sophon.errors import InputError, SessionTaken, StoreError
from sophon.principals import LOCAL_USER, hub_user_principal
from sophon.tools.untrusted_text import fence_text
from sophon.traces.trace_context import new_trace_id
from sophon_channels.contract import Channel
from sophon_channels.webhook_body import WebhookBodyReader, build_closing_response
from sophon_hosting.channels.unattended_owner_rights import find_client_problem, find_level_problem
from sophon_hosting.client_api.scoped_session_ids import to_scoped_session_id
from sophon_hosting.features.webhooks.settings import IncomingWebhookSettings
from sophon_hosting.features.webhooks.signatures import find_delivery_id, is_signed
from sophon_hosting.host import Host, RunRequest, TaskReceipt
from sophon_hosting.queue.errors import TryLater
from sophon_hosting.runs.own_text import FOREIGN_SOURCES, OWN_TEXT
from sophon_hosting.settings.hub import HubSettings

log = logging.getLogger("sophon")

RECEIVE_PATH = "/webhooks/receive/{webhook_id}"

MAX_BODY_BYTES = 1024 * 1024
"""Maximum size of a request's body, in bytes."""

MAX_SESSION_CHARACTERS = 120

WEBHOOK_CHANNEL = "webhook"
"""Channel of messages whose answers go to no chat; no platform has this name."""

WEBHOOK_SOURCE = "webhook"
"""Source of the text in a request."""

DEFAULT_INSTRUCTIONS = "A webhook was called. Say in a few sentences what it reports."
"""What the agent is asked without `Instructions`."""

MAX_TEXT_CHARACTERS = 20_000
"""Maximum length of what is shown of one body."""

CUT_NOTE = "\n[cut: there is more]"

MAX_INDENTED_DEPTH = 8
"""Depth to which JSON is shown with a line per item."""

HEADER_PREFIX = "header:"

_PLACEHOLDER = lazy_pattern(r"\{\{\s*([^{}\s]{1,200})\s*\}\}")


class IncomingWebhooks:
    """aiohttp handlers of the webhooks in the settings.

    A request is answered 202 once its message is stored; a repeated one gets the same task. 401 wrong or missing
    signature, also for an id that does not exist, so that nobody learns which do; 403 if the webhook's user may not
    chat; 413 too large; 400 not JSON; 503 with Retry-After if the queue is full or the store unavailable: senders
    deliver those again.
    """

    def __init__(
        self,
        host: Host,
        webhooks: Sequence[IncomingWebhookSettings],
        environment: Mapping[str, str],
        channels: Mapping[str, Channel],
    ) -> None:
        """Create the handlers. Raises InputError for a user or a chat that the host does not have."""
        self._host, self._clock, self._channels = host, host.services.clock, channels
        self._webhooks = {each.id: (each, each.secret.resolve(environment) or "") for each in webhooks if each.enabled}
        self._refusals = RateLimitedLog(log)
        self._bodies = WebhookBodyReader(MAX_BODY_BYTES, RECEIVE_PATH, self._refusals)
        for each, secret in self._webhooks.values():
            if not secret:
                raise InputError(f"Webhooks.Incoming {each.id!r}: its Secret is empty or cannot be read")
            if each.deliver is not None and each.deliver.channel not in channels:
                raise InputError(f"Webhooks.Incoming {each.id!r}: the channel {each.deliver.channel!r} is not enabled")
            users = [user.id for user in host.services.settings.section(HubSettings).users]
            if each.user.partition(":")[0] not in channels and find_client_problem(users, each.user):
                known = ", ".join(sorted(map(hub_user_principal, users))) or LOCAL_USER
                raise InputError(f"Webhooks.Incoming {each.id!r}: User {each.user!r} is no user of this host ({known})")

    def routes(self) -> list[web.RouteDef]:
        """Return the route; none without a webhook."""
        return [web.post(RECEIVE_PATH, self.handle)] if self._webhooks else []

    async def handle(self, request: web.Request) -> web.Response:
        """Handle one request; see the class."""
        body = await self._bodies.read(request)
        if isinstance(body, web.Response):
            return body
        webhook, secret = self._webhooks.get(request.match_info["webhook_id"], (None, ""))
        if webhook is None or not is_signed(webhook.scheme, request.headers, body, secret, self._clock.now()):
            self._refusals.warning("signature", "rejected a request to %s without a valid signature", request.path)
            return build_closing_response(401)
        try:
            payload: object = json.loads(body or b"{}")
        except (ValueError, RecursionError):
            return _json_error(400, "the body is not JSON")
        if not passes_filters(webhook.filters, request.headers, payload):
            return web.json_response({"ok": True, "accepted": False})
        delivery_id = find_delivery_id(webhook.scheme, request.headers, body)
        message = build_message(webhook, payload, delivery_id, self._clock, self._channels, self._webhooks)
        return await self._accept(webhook, message)

    async def _accept(self, webhook: IncomingWebhookSettings, message: RunRequest) -> web.Response:
        if problem := find_level_problem(self._host.services, message.owner, message.channel):
            self._refusals.warning("level", "webhook %s: a request was refused: %s", webhook.id, problem)
            return _json_error(403, problem)
        try:
            receipt = await self._store_message(message)
        except TryLater as error:
            return _json_error(503, str(error), {"Retry-After": str(error.retry_after_seconds)})
        except InputError as error:
            return _json_error(400, str(error))
        except StoreError as error:
            log.error("webhook %s: a request could not be stored: %s", webhook.id, error)  # noqa: TRY400 - as above
            return _json_error(503, "the store is unavailable", {"Retry-After": "5"})
        answer = {"ok": True, "accepted": True, "task_id": receipt.task_id, "repeated": not receipt.created}
        return web.json_response(answer, status=202)

    async def _store_message(self, message: RunRequest) -> TaskReceipt:
        """Accept the message; if somebody else has a session of that id, in one that only the webhook's user has."""
        try:
            return await self._host.accept(message)
        except SessionTaken:
            own = to_scoped_session_id(message.session_id or "", message.owner)
            return await self._host.accept(replace(message, session_id=own))


def build_message(
    webhook: IncomingWebhookSettings,
    payload: object,
    delivery_id: str,
    clock: Clock,
    channels: Mapping[str, Channel],
    ids: Collection[str] = (),
) -> RunRequest:
    """Return the message of a request: the operator's instructions bare, what the sender wrote inside a fence."""
    shown = fence_text(render_template(webhook.template, payload), WEBHOOK_SOURCE, clock.new_nonce())
    instructions = webhook.instructions.strip() or DEFAULT_INSTRUCTIONS
    channel = webhook.deliver.channel if webhook.deliver else WEBHOOK_CHANNEL
    return RunRequest(
        text=f"{instructions}\n\n{shown}",
        session_id=find_session_id(webhook, payload, ids),
        session_owner=webhook.user,
        owner=webhook.user,
        channel=channel,
        account=channels[channel].account if webhook.deliver else webhook.id,
        external_id=f"{WEBHOOK_CHANNEL}:{webhook.id}:{delivery_id}",
        origin={
            "webhook": webhook.id,
            # Nobody who may decide about calls wrote the body: what a call does must follow from the instructions.
            OWN_TEXT: instructions,
            FOREIGN_SOURCES: [WEBHOOK_SOURCE],
            **({"chat": webhook.deliver.chat, "kind": "group"} if webhook.deliver else {}),
        },
        trace=new_trace_id(),
    )


def find_session_id(webhook: IncomingWebhookSettings, payload: object, ids: Collection[str] = ()) -> str:
    """Return the id of the session: that of the webhook with the value of its template, so that each has its own.

    A value of which characters are replaced or cut, or that makes it the id of another webhook's session (`ids`: those
    of all webhooks), is told from others by a digest.
    """
    value = render_template(webhook.session, payload).strip() if webhook.session else ""
    name = f"{WEBHOOK_CHANNEL}-{webhook.id}" + (f"-{value}" if value else "")
    safe = "".join(each if each.isalnum() or each in "-_." else "_" for each in name)
    longer = (f"{WEBHOOK_CHANNEL}-{each}-" for each in ids if len(each) > len(webhook.id))
    if safe == name and len(name) <= MAX_SESSION_CHARACTERS and not f"{name}-".startswith(tuple(longer)):
        return name
    digest = hashlib.sha256(f"{webhook.id}\0{value}".encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{safe[: MAX_SESSION_CHARACTERS - len(digest) - 1]}-{digest}"


def _json_error(status: int, message: str, headers: Mapping[str, str] | None = None) -> web.Response:
    return web.json_response({"ok": False, "error": message}, status=status, headers=headers)


def find_value(payload: object, path: str) -> object:
    """Return the value at a path such as `commits.0.author.name`; None if there is none."""
    found = payload
    for part in path.split("."):
        if isinstance(found, Mapping):
            found = found.get(part)  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType] - any JSON
        elif isinstance(found, Sequence) and not isinstance(found, str) and part.isascii() and part.isdigit():
            found = found[int(part)] if len(part) < 7 and int(part) < len(found) else None  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] - as above
        else:
            return None
    return found  # pyright: ignore[reportUnknownVariableType] - as above


def render_template(template: str, payload: object) -> str:
    """Return the template with its placeholders replaced; the whole payload as JSON for an empty template.

    It is cut to `MAX_TEXT_CHARACTERS` with a note.
    """
    if template:
        return _cut([_PLACEHOLDER.sub(lambda found: _to_text(find_value(payload, found[1])), template)])
    return _cut(_indent_json(payload))


def _cut(pieces: Iterable[str]) -> str:
    """Return a text that is cut. No piece after the cut is made: 1 MiB of lists in lists is 250 MiB with line breaks,
    which take seconds.
    """
    shown, characters = list[str](), 0
    for piece in pieces:
        shown.append(piece)
        characters += len(piece)
        if characters > MAX_TEXT_CHARACTERS:
            return "".join(shown)[:MAX_TEXT_CHARACTERS] + CUT_NOTE
    return "".join(shown)


def passes_filters(filters: Mapping[str, Sequence[str]], headers: Mapping[str, str], payload: object) -> bool:
    """Return whether each filter accepts its value; a value that is missing is never accepted."""
    return all(
        _filtered_value(path, headers, payload) in {each.casefold() for each in accepted}
        for path, accepted in filters.items()
    )


def _filtered_value(path: str, headers: Mapping[str, str], payload: object) -> str | None:
    if path.startswith(HEADER_PREFIX):
        found: object = headers.get(path.removeprefix(HEADER_PREFIX))
    else:
        found = find_value(payload, path)
    return None if found is None else _to_text(found).casefold()


def _to_text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _indent_json(value: object, depth: int = 0) -> Iterator[str]:
    """Yield JSON with a line per item to `MAX_INDENTED_DEPTH`, and what is deeper in one line."""
    if depth < MAX_INDENTED_DEPTH and value and isinstance(value, Mapping | list):
        opening, closing = "{}" if isinstance(value, Mapping) else "[]"
        before = opening
        for each in value:  # pyright: ignore[reportUnknownVariableType] - any JSON
            yield f"{before}\n{' ' * (depth + 1)}"
            if isinstance(value, Mapping):
                yield f"{json.dumps(each, ensure_ascii=False)}: "
                each = value[each]  # pyright: ignore[reportUnknownVariableType] - as above
            yield from _indent_json(each, depth + 1)  # pyright: ignore[reportUnknownArgumentType] - as above
            before = ","
        yield f"\n{' ' * depth}{closing}"
    else:
        yield json.dumps(value, ensure_ascii=False)
