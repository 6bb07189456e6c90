"""Trial of a provider before it is used: its models are listed, and one of them answers a message of a few words."""

import asyncio
import re
from collections.abc import Mapping

from sophon._python.lazy_pattern import lazy_pattern
from sophon.errors import (
    AuthenticationFailed,
    BadRequest,
    ModelError,
    ModelTimeout,
    Overloaded,
    ProviderUnavailable,
    RateLimited,
    SophonError,
    TrialFailed,
)
from sophon.messages import Message
from sophon.models.gateway.error_classification import classify_error
from sophon.models.model import Model, ModelRequest
from sophon.models.providers.http.transport import HttpTransport
from sophon.models.providers.model_listing import ModelListing, list_provider_models
from sophon.settings import ProviderSettings

LISTING_TIMEOUT_SECONDS = 20.0
ANSWER_TIMEOUT_SECONDS = 90.0
"""Time for the answer; a model that must be loaded first takes a minute."""

TRIAL_MESSAGE = "Answer with the word OK."
TRIAL_TOKENS = 64
"""Longest answer: some models refuse fewer than 16 tokens."""

MAX_CAUSE_CHARACTERS = 200

_NO_CREDIT = lazy_pattern(
    r"insufficient[ _-]?(?:quota|credit|balance|funds)|credit balance is too low|exceeded your current quota"
    r"|payment required|billing|out of credits|no credits?\b",
    re.IGNORECASE,
)
_UNKNOWN_MODEL = lazy_pattern(r"model.{0,80}(?:not found|does not exist|not exist|unknown|no access)", re.IGNORECASE)
_WRONG_KEY = lazy_pattern(
    r"(?:invalid|incorrect|wrong|not valid).{0,20}(?:api.?)?key|(?:api.?)?key.{0,20}(?:invalid|not valid)",
    re.IGNORECASE,
)


async def try_listing(
    settings: ProviderSettings, key: str | None, environment: Mapping[str, str], transport: HttpTransport
) -> ModelListing:
    """Return the models that the provider lists for the key. Raises TrialFailed."""
    try:
        async with asyncio.timeout(LISTING_TIMEOUT_SECONDS):
            return await list_provider_models(settings, key, environment, transport)
    except Exception as error:
        raise explain_failure(error, settings.id) from error


async def try_answer(model: Model, key: str | None, provider_id: str) -> None:
    """Let a model answer a short message; what it says does not matter. Raises TrialFailed."""
    messages = [Message("user", TRIAL_MESSAGE)]
    request = ModelRequest(messages, [], model.info, purpose="evaluation", max_tokens=TRIAL_TOKENS, key=key)
    try:
        async with asyncio.timeout(ANSWER_TIMEOUT_SECONDS):
            await model.complete(request)
    except Exception as error:
        raise explain_failure(error, provider_id, model.info.name) from error


def explain_failure(error: Exception, provider_id: str, model_name: str = "") -> TrialFailed:
    """Return the error for people: which of the things that they can change was wrong."""
    found = classify_error(error, provider_id, model_name or "models")
    status = found.status if isinstance(found, ModelError) else None
    text = str(found)
    if status == 402 or (isinstance(found, RateLimited | BadRequest) and _NO_CREDIT.search(text)):
        return TrialFailed("no_credit", f"{provider_id} accepts the key, but its account has no credit left.")
    if isinstance(found, AuthenticationFailed) or (isinstance(found, BadRequest) and _WRONG_KEY.search(text)):
        return TrialFailed("wrong_key", f"{provider_id} does not accept this key.")
    if isinstance(found, RateLimited | Overloaded):
        return TrialFailed("provider_busy", f"{provider_id} is busy or limits this key now; try again in a minute.")
    if isinstance(found, ModelTimeout) or (isinstance(found, ProviderUnavailable) and status is None):
        return TrialFailed("no_network", f"{provider_id} cannot be reached: {_cause(found)}.")
    if model_name and (status == 404 or _UNKNOWN_MODEL.search(text)):
        return TrialFailed("unknown_model", f"{provider_id} has no model {model_name!r} for this key.")
    if status == 404 or "is no" in text:
        return TrialFailed(
            "no_api", f"there is no API of this kind at the address of {provider_id}; check the address."
        )
    return TrialFailed("provider_failed", f"{provider_id} answered with an error: {_cause(found)}.")


def _cause(error: SophonError) -> str:
    """Return the beginning of an error's text on one line, without the name of the model in front."""
    text = " ".join(str(error).split())
    text = text.rpartition(": ")[2] if len(text) > MAX_CAUSE_CHARACTERS else text
    return text[:MAX_CAUSE_CHARACTERS].rstrip(".") or type(error).__name__
