"""Operations on providers: models, for all users; state of keys and circuit breaker, and reset, for operators."""

import logging
from typing import Annotated

from sophon.errors import NotFound
from sophon_hosting.client_api.caller import Caller
from sophon_hosting.features.providers.results import (
    ProviderList,
    ProviderModelsList,
    ProviderView,
    provider_models_to_json,
    provider_to_json,
)
from sophon_hosting.operations.request import Doc, NoFields, Request
from sophon_hosting.operations.table import Table

log = logging.getLogger("sophon")

table = Table("providers")


class NamedProvider(Request):
    """A provider by its `Id` in the settings."""

    provider_id: Annotated[str, Doc("The Id of a provider.")]


@table.operation("GET /api/models", needs="Read")
async def list_models(caller: Caller, request: NoFields) -> ProviderModelsList:
    """List the providers in order of priority, with health and models; attempts and errors for operators only."""
    now, wall_time = caller.monotonic(), caller.now() if caller.user.operator else None
    providers = caller.host.services.gateway.providers
    return {"items": [provider_models_to_json(each, each.statistics(now), wall_time) for each in providers]}


@table.operation("GET /api/providers", needs="Operator")
async def list_providers(caller: Caller, request: NoFields) -> ProviderList:
    """List the providers in order of priority, as this process knows them.

    They have keys, cool-downs and circuit breaker; `available_at` is when one is called again, or null.
    """
    found, now = caller.host.services.gateway.statistics(), caller.now()
    return {"items": [provider_to_json(each, now) for each in found]}


@table.operation("POST /api/providers/{provider_id}/reset", needs="Operator", ok=True, errors=(NotFound,))
async def reset_provider(caller: Caller, request: NamedProvider) -> ProviderView:
    """End the cool-downs of a provider, enable its rejected keys and close its circuit; logged."""
    provider_id, gateway = request.provider_id, caller.host.services.gateway
    before = gateway.reset_provider(provider_id)
    cooling, disabled = (before.keys.cooling, before.keys.disabled) if before.keys is not None else (0, 0)
    log.info(
        "provider %s was reset by %s: %d keys were cooling down, %d were disabled, the circuit was %s",
        provider_id,
        caller.user.id,
        cooling,
        disabled,
        before.circuit,
    )
    return provider_to_json(gateway.find_provider(provider_id).statistics(caller.monotonic()), caller.now())
