"""All settings of Sophon: the model of what lies below the key `Sophon`."""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import Field, ValidationError

from sophon.errors import SettingsError
from sophon.settings.agent import (
    AgentExecutionSettings,
    ApprovalSettings,
    ChainSettings,
    ContextWindowSettings,
    GuardsSettings,
    MemorySettings,
    PlanningSettings,
    ToolFilterSettings,
    ToolsSettings,
)
from sophon.settings.host import ChannelsSettings, HubSettings, LoggingSettings, QueueSettings, StoreSettings
from sophon.settings.layers import canonical
from sophon.settings.plain import is_list, is_mapping, kind_of_json
from sophon.settings.providers import EVERY_PROVIDER, BudgetSettings, ProviderSettings
from sophon.settings.report import Place, line, near, problems_of
from sophon.settings.section import Section


class Settings(Section):
    """Everything that can be set; `Settings()` holds the defaults and reads no file and no environment."""

    agent_execution: AgentExecutionSettings = Field(
        default_factory=AgentExecutionSettings, description="How long and how often one turn may work."
    )
    providers: tuple[ProviderSettings, ...] = Field(
        default=(),
        description="Ways to models; without any, what is found is used: a key, Ollama, else the offline model.",
    )
    budget: BudgetSettings = Field(default_factory=BudgetSettings, description="The limits on tokens and money.")
    context_window: ContextWindowSettings = Field(
        default_factory=ContextWindowSettings, description="When and how a conversation is shortened."
    )
    tool_filter: ToolFilterSettings = Field(
        default_factory=ToolFilterSettings, description="How many tools a model is shown."
    )
    planning: PlanningSettings = Field(
        default_factory=PlanningSettings, description="When a request becomes a plan, and how its steps run."
    )
    approval: ApprovalSettings = Field(default_factory=ApprovalSettings, description="When a person is asked.")
    chain: ChainSettings = Field(default_factory=ChainSettings, description="Which chain a turn travels through.")
    tools: ToolsSettings = Field(default_factory=ToolsSettings, description="Which tools there are, and their limits.")
    guards: GuardsSettings = Field(default_factory=GuardsSettings, description="The guards around tool calls; no keys.")
    memory: MemorySettings = Field(default_factory=MemorySettings, description="The long-term memory.")
    queue: QueueSettings = Field(default_factory=QueueSettings, description="Where tasks wait.")
    store: StoreSettings = Field(default_factory=StoreSettings, description="Where everything durable is kept.")
    hub: HubSettings = Field(default_factory=HubSettings, description="The web server: page, API and Socket.IO.")
    logging: LoggingSettings = Field(default_factory=LoggingSettings, description="What a host tells of itself.")
    channels: ChannelsSettings = Field(default_factory=ChannelsSettings, description="The platforms people write from.")

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> "Settings":
        """The settings in `values`, the dict below `Sophon`, with defaults for the rest.

        Raises SettingsError with a line for every problem, those between sections included, which
        `model_validate` does not look for.
        """
        settings, problems = checked(values)
        if settings is None:
            raise SettingsError([line(place, sentence) for place, sentence in problems])
        return settings


def checked(values: object) -> tuple[Settings | None, list[tuple[Place, str]]]:
    """The settings, or None and everything that is wrong with them as (path, sentence)."""
    if not is_mapping(values):
        return None, [((), f"a mapping ({{...}}) is expected, not {kind_of_json(values)}")]
    spelt = canonical(Settings, values)
    problems = list(_across(spelt))
    settings = None
    try:
        settings = Settings.model_validate(spelt)
    except ValidationError as error:
        problems = [*problems_of(Settings, error), *problems]
    return (None, problems) if problems else (settings, [])


def _across(values: Mapping[str, Any]) -> Iterator[tuple[Place, str]]:
    """What does not go together between sections; it takes raw values, so that one mistake does not hide another."""
    providers = _ids(values.get("Providers"))
    yield from _repeated(("Providers",), providers)
    yield from _repeated(("Hub", "Users"), _ids(_part(values.get("Hub"), "Users")))
    limits = _part(values.get("Budget"), "Providers")
    for key in limits if is_mapping(limits) and providers else ():
        if key != EVERY_PROVIDER and key not in providers.values():
            near_id = near(str(key), providers.values())
            yield ("Budget", "Providers", key), f"there is no provider with this Id{near_id}"


def _part(values: object, key: str) -> object:
    return values.get(key) if is_mapping(values) else None


def _ids(items: object) -> dict[int, str]:
    """The Ids in a list of mappings, by their place."""
    found = ((place, _part(item, "Id")) for place, item in enumerate(items if is_list(items) else ()))
    return {place: each for place, each in found if isinstance(each, str)}


def _repeated(path: Place, ids: Mapping[int, str]) -> Iterator[tuple[Place, str]]:
    first: dict[str, int] = {}
    for place, each in ids.items():
        if first.setdefault(each, place) != place:
            yield (*path, place, "Id"), f"{each!r} is already the Id of number {first[each] + 1} in the list"
