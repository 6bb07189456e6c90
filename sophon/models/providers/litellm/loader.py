"""Loader of the litellm library: lazily, in a worker thread, without network access, log output or telemetry."""

import importlib
import logging
import os
import warnings
from types import ModuleType
from typing import Any

import anyio.to_thread

from sophon.errors import NoProvider
from sophon.extras import describe_missing_package

LOCAL_TABLE_VARIABLES = (
    "LITELLM_LOCAL_MODEL_COST_MAP",
    "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS",
    "LITELLM_LOCAL_AUTOROUTER_PRESETS",
    "LITELLM_LOCAL_BLOG_POSTS",
    "LITELLM_LOCAL_POLICY_TEMPLATES",
)
"""Environment variables that keep litellm from downloading tables."""

_users: set[int] = set()
_loaded: ModuleType | None = None


async def load_litellm() -> Any:
    """Return the litellm module; the first call loads it in a worker thread, which takes seconds."""
    if _loaded is None:
        return await anyio.to_thread.run_sync(_load, abandon_on_cancel=True)
    return _loaded


def acquire_clients(user: object) -> None:
    """Register a user of litellm's process-wide HTTP clients."""
    _users.add(id(user))


async def release_clients(user: object) -> None:
    """Unregister a user of litellm's HTTP clients; the last one closes them."""
    if id(user) not in _users:
        return
    _users.discard(id(user))
    if _users or _loaded is None:
        return
    litellm: Any = _loaded
    await litellm.close_litellm_async_clients()
    # The cache must not return a closed client to the next user.
    litellm.in_memory_llm_clients_cache.flush_cache()


def _load() -> ModuleType:
    global _loaded
    for name in LOCAL_TABLE_VARIABLES:
        os.environ[name] = "True"
    # In its default developer mode litellm loads a .env file from any parent folder into the environment.
    os.environ.setdefault("LITELLM_MODE", "PRODUCTION")
    # pydantic warns about litellm's own types at the first streamed response.
    warnings.filterwarnings(
        "ignore", r"Item '.*' on TypedDict class '.*' is using the `ReadOnly` qualifier", UserWarning
    )
    try:
        module = importlib.import_module("litellm")
    except ModuleNotFoundError as error:
        raise NoProvider(f"this model is called by litellm; {describe_missing_package(error) or error}") from error
    litellm: Any = module
    litellm.telemetry = False
    litellm.suppress_debug_info = True
    litellm.turn_off_message_logging = True
    litellm.disable_streaming_logging = True
    litellm.disable_aiohttp_transport = True
    litellm.modify_params = True
    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    # lazy: it imports httpx, which litellm has loaded now
    from sophon.models.providers.litellm.response_bounds import install_response_bounds

    install_response_bounds()
    _loaded = module
    return module
