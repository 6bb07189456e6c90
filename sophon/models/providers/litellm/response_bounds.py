"""Bounds on the responses that litellm reads, through hooks of the HTTP clients that it creates.

litellm reads whole responses, error responses included, before anybody sees them, and its clients inflate a compressed
chunk at once. Its clients are created in two places: `AsyncHTTPHandler` (most providers) and `BaseOpenAILLM` (those
that it calls with OpenAI's package). A provider that litellm calls with a package of the provider's own is not bounded
here: its replies are counted when litellm has returned them, or chunk by chunk in a stream.
"""

import functools
import importlib
import logging
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import httpx

from sophon.models.providers.bounded_response import bound_response
from sophon.models.providers.content_decoding import ACCEPT_ENCODING
from sophon.models.reply_size import MAX_REPLY_BYTES

log = logging.getLogger("sophon")

CLIENT_FACTORIES = (
    ("litellm.llms.custom_httpx.http_handler", "AsyncHTTPHandler", "create_client"),
    ("litellm.llms.openai.common_utils", "BaseOpenAILLM", "_get_async_http_client"),
)
"""Module, class and method of litellm that create an HTTP client."""

max_reply_bytes: ContextVar[int] = ContextVar("sophon_litellm_max_reply_bytes", default=MAX_REPLY_BYTES)
"""Limit for the calls of the current task; the adapter sets it before it calls litellm."""


def install_response_bounds() -> None:
    """Bound every HTTP client that litellm creates from now on; litellm must have been imported. Idempotent."""
    for module, owner_name, name in CLIENT_FACTORIES:
        owner: Any = getattr(importlib.import_module(module), owner_name, None)
        create: Any = getattr(owner, name, None)
        if create is None:
            log.warning("litellm has no %s.%s: replies are not bounded while they are read", owner_name, name)
        elif not hasattr(create, "__wrapped__"):
            is_static = isinstance(owner.__dict__.get(name), staticmethod)
            bounded = _with_hooks(create)
            setattr(owner, name, staticmethod(bounded) if is_static else bounded)


def _with_hooks(create: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(create)
    def create_bounded(*arguments: Any, **named: Any) -> Any:
        client = create(*arguments, **named)
        if isinstance(client, httpx.AsyncClient) and _bound not in client.event_hooks["response"]:
            hooks = client.event_hooks
            client.event_hooks = {
                "request": [*hooks["request"], _limit_encodings],
                "response": [_bound, *hooks["response"]],
            }
        return client

    return create_bounded


async def _limit_encodings(request: httpx.Request) -> None:
    request.headers["accept-encoding"] = ACCEPT_ENCODING


async def _bound(response: httpx.Response) -> None:
    bound_response(response, max_reply_bytes.get())
