"""Operations of the set-up: try, save and remove a provider with its key; for operators only."""

from typing import Annotated, cast

from sophon._python.value_rules import ValueRules
from sophon.errors import InputError, SettingsError, TrialFailed
from sophon_hosting.client_api.caller import Caller
from sophon_hosting.features.settings.feature import PROVIDER_SETUP
from sophon_hosting.features.settings.operations import NO_FILES
from sophon_hosting.features.settings.provider_setup import ProviderChoice, ProviderSetup
from sophon_hosting.features.settings.results import OfferedModels, SavedModel, SetupView, offered_models_to_json
from sophon_hosting.operations.request import NoFields, Request
from sophon_hosting.operations.shared_results import Done
from sophon_hosting.operations.table import Table

table = Table("settings")


class ProviderToTry(Request):
    """What a person gives: a type, a key that is never shown again, and for one's own server an address."""

    type: Annotated[str, ValueRules(min_length=1, max_length=100)]
    key: Annotated[str, ValueRules(min_length=1, max_length=4096)] | None = None
    base_url: Annotated[str, ValueRules(min_length=1, max_length=2000)] | None = None


class ProviderToSave(ProviderToTry):
    """A provider with its model."""

    model: Annotated[str, ValueRules(min_length=1, max_length=200)]


@table.operation("GET /api/setup", needs="Operator")
async def get_setup(caller: Caller, request: NoFields) -> SetupView:
    """Return which models are used, whether a provider was set up, and the types to choose from.

    `obstacle` says why none can be set up.
    """
    return cast(SetupView, _setup(caller).describe())


@table.operation(
    "POST /api/setup/models", needs="Operator", errors=(TrialFailed, SettingsError), example={"type": "OpenAI"}
)
async def list_offered_models(caller: Caller, request: ProviderToTry) -> OfferedModels:
    """Try a key: return the models that the provider lists, with their prices in USD per million tokens.

    Prices are null if they are unknown, unless the model `is_free`. The `reason` of `trial_failed` is `wrong_key`,
    `no_credit`, `no_network`, `unknown_model`, `no_api`, `provider_busy` or `provider_failed`.
    """
    return offered_models_to_json(await _setup(caller).list_models(_to_choice(request)))


@table.operation(
    "POST /api/setup/provider",
    needs="Operator",
    ok=True,
    errors=(TrialFailed, SettingsError),
    example={"type": "OpenAI", "model": "gpt-4o-mini"},
)
async def save_provider(caller: Caller, request: ProviderToSave) -> SavedModel:
    """Let a model answer once, save the provider with its key, and use it from the next turn on; recorded.

    The key is never returned. Without one the saved key is used, for the same type and address only.
    """
    info = await _setup(caller).save(_to_choice(request), request.model, by=caller.user.id)
    return {"provider": info.provider, "model": info.name}


@table.operation("DELETE /api/setup/provider", needs="Operator", ok=True, errors=(SettingsError,))
async def remove_provider(caller: Caller, request: NoFields) -> Done:
    """Remove the saved provider with its key; recorded."""
    await _setup(caller).remove(by=caller.user.id)
    return {}


def _setup(caller: Caller) -> ProviderSetup:
    setup = caller.host.feature_services.find(PROVIDER_SETUP)
    if setup is None:
        raise InputError(NO_FILES)
    return setup


def _to_choice(request: ProviderToTry) -> ProviderChoice:
    key = None if request.key is None else request.key.strip() or None
    return ProviderChoice(request.type, key, request.base_url)
