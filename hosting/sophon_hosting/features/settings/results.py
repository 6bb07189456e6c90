"""Results of settings: the settings of the running host, and the set-up of a provider."""

from typing import TYPE_CHECKING, Any

from sophon._python.lazy_typed_dict import TypedDict

if TYPE_CHECKING:
    from sophon.models.providers.model_listing import ModelListing
    from sophon.settings.effective_rows import SettingRow


class SettingView(TypedDict):
    """A setting with its value and its source, null for a default; secrets are references, or `***`."""

    path: str
    value: Any
    source: str | None
    description: str
    can_change: bool
    choices: list[str]


class SettingList(TypedDict):
    """All settings of the running host."""

    items: list[SettingView]


class SavedProvider(TypedDict):
    """The provider that was saved here, without its key."""

    id: str
    type: str
    model: str | None
    base_url: str | None
    has_key: bool


class UsedProvider(TypedDict):
    """A provider in use, with its first model."""

    provider: str
    model: str


class ProviderType(TypedDict):
    """A type of provider that can be set up, with its customary model."""

    type: str
    model: str
    needs_key: bool
    needs_url: bool


class SetupView(TypedDict):
    """What is used, and what can be set up; `obstacle` says why nothing can be, empty if it can. `restarts` names the
    file that the next start reads.
    """

    obstacle: str
    saved: SavedProvider | None
    in_use: list[UsedProvider]
    is_offline: bool
    types: list[ProviderType]
    restarts: str


class ModelPrices(TypedDict):
    """Prices in USD per million tokens."""

    input: float
    output: float


class OfferedModel(TypedDict):
    """A model that a provider lists; prices are null if they are unknown, or if it is free."""

    model: str
    context_window: int
    function_calling: bool
    prices: ModelPrices | None
    is_free: bool


class OfferedModels(TypedDict):
    """The models of a provider; `is_from_provider` if it listed them itself."""

    is_from_provider: bool
    items: list[OfferedModel]


class SavedModel(TypedDict):
    """The provider and the model that are used from the next turn on."""

    provider: str
    model: str


def setting_to_json(row: "SettingRow") -> SettingView:
    """Return a setting as JSON."""
    return {
        "path": row.path,
        "value": row.value,
        "source": row.source,
        "description": row.description,
        "can_change": row.can_change,
        "choices": list(row.choices),
    }


def offered_models_to_json(found: "ModelListing") -> OfferedModels:
    """Return the models that a provider lists as JSON."""
    items: list[OfferedModel] = [
        {
            "model": each.name,
            "context_window": each.context_window,
            "function_calling": each.function_calling,
            "prices": None if each.prices is None else {"input": each.prices[0], "output": each.prices[1]},
            "is_free": each.prices is None and not each.is_cost_unknown,
        }
        for each in found.models
    ]
    return {"is_from_provider": found.is_from_provider, "items": items}
