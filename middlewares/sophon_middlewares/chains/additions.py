"""Additions to a chain: which setting adds which middleware, and why. The list of each chain names their places."""

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Final, Generic, TypeVar, cast

from sophon._python.lazy_dataclass import dataclass
from sophon.chain.order_constraints import list_class_names
from sophon.chain.pipeline import Middleware, Pipeline
from sophon.chain.placement import Additions
from sophon.composition.part_factories import find_memory_folder
from sophon.errors import CompositionError
from sophon.services import Services
from sophon.settings import GuardsSettings, Settings
from sophon_middlewares.guards.guard_description import find_turn_settings
from sophon_middlewares.memory.memory import DailyLog, Memory

S = TypeVar("S")


@dataclass(frozen=True, slots=True)
class Addition(Generic[S]):
    """Middleware that is added where `is_wanted`; its `module` is imported only then.

    `reason` is a sentence for people that begins with the setting.
    """

    name: str
    module: str
    reason: str
    is_wanted: Callable[[S], bool]


ADDITIONS: Final[tuple[Addition[Services], ...]] = (
    Addition(
        "Trace",
        "sophon_middlewares.traces.trace",
        "Traces.Enabled: keeps what a turn did, and how long each stage took.",
        lambda services: services.settings.traces.enabled and services.learning.is_enabled,
    ),
    Addition(
        "Learning",
        "sophon_middlewares.learning.learning",
        "Learning.Enabled or a strategy that learns: keeps how a message was routed and how well it was answered.",
        lambda services: learns_from_turns(services.settings),
    ),
    Addition(
        "Scoring",
        "sophon_middlewares.learning.scoring",
        "Learning.Enabled or a strategy that learns: scores the answer for Learning.",
        lambda services: learns_from_turns(services.settings),
    ),
    Addition(
        "Memory",
        "sophon_middlewares.memory.memory",
        "Memory.Enabled: puts the workspace files and what is remembered about the message into the prompt.",
        lambda services: services.settings.memory.enabled,
    ),
    Addition(
        "Agents",
        "sophon_middlewares.agents.agents",
        "Agents.Directory or Agents.Worker: offers the agents to the model.",
        lambda services: services.assistant.agents is not None,
    ),
    Addition(
        "CustomTools",
        "sophon_middlewares.skills.custom_tools",
        "CustomTools.Enabled: offers the tools of the folder as it is now.",
        lambda services: services.assistant.custom_tools is not None,
    ),
    Addition(
        "Skills",
        "sophon_middlewares.skills.skills",
        "Skills.Directories: offers the skills of a folder that exists.",
        lambda services: services.assistant.skills is not None,
    ),
    Addition(
        "Preferences",
        "sophon_middlewares.memory.preferences",
        "Preferences.Enabled: puts what the person has chosen into the prompt.",
        lambda services: services.settings.preferences.enabled,
    ),
    Addition(
        "ActionAnnouncer",
        "sophon_middlewares.replies.action_announcer",
        "Replies.Announcer.Enabled: takes claims of actions that did not run out of the reply.",
        lambda services: services.settings.replies.announcer.enabled,
    ),
    Addition(
        "ResponseValidator",
        "sophon_middlewares.replies.response_validator",
        "Replies.Validator.Enabled: checks the reply, with at most one corrective round.",
        lambda services: services.settings.replies.validator.enabled,
    ),
    Addition(
        "UrlOutcomes",
        "sophon_middlewares.replies.url_outcomes",
        "Replies.UrlOutcomes: names the addresses that failed in the reply.",
        lambda services: services.settings.replies.url_outcomes,
    ),
    Addition(
        "DecisionLayer",
        "sophon_middlewares.decisions.decision_layer",
        "Decisions.Enabled: decides by rules what kind of work the message is.",
        lambda services: services.settings.decisions.enabled,
    ),
)
"""What is added besides the guards, in the order in which `place` puts it into a chain without places."""

GUARDS: Final[tuple[Addition[GuardsSettings], ...]] = (
    Addition(
        "ReplyRedaction",
        "sophon_middlewares.guards.redaction.redaction",
        "Guards.Redaction.Enabled: replaces secrets in each model call.",
        lambda guards: guards.redaction.enabled,
    ),
    Addition(
        "Audit",
        "sophon_middlewares.guards.audit",
        "Guards.Audit.Enabled: keeps what became of each tool call in a hash chain.",
        lambda guards: guards.audit.enabled,
    ),
    Addition(
        "Redaction",
        "sophon_middlewares.guards.redaction.redaction",
        "Guards.Redaction.Enabled: replaces secrets in results and replies.",
        lambda guards: guards.redaction.enabled,
    ),
    Addition(
        "Authorization",
        "sophon_middlewares.guards.authorization",
        "Guards.Authorization.Enabled or a level that denies something: lets a tool run only for whom it may.",
        lambda guards: bool(guards.authorization.enabled),
    ),
    Addition(
        "RateLimit",
        "sophon_middlewares.guards.rate_limit",
        "Guards.RateLimit.Enabled: limits calls and messages in sliding windows.",
        lambda guards: guards.rate_limit.enabled,
    ),
    Addition(
        "IntentGate",
        "sophon_middlewares.guards.intent_gate",
        "Guards.IntentGate.Enabled: asks about a call with effects that no words of the person ask for.",
        lambda guards: guards.intent_gate.enabled,
    ),
    Addition(
        "OffTheRecord",
        "sophon_middlewares.guards.off_the_record",
        "A conversation off the record: refuses calls that would leave something behind.",
        lambda _: False,  # no setting says so: `OffTheRecordHost` adds it
    ),
    Addition(
        "Integrity",
        "sophon_middlewares.guards.integrity",
        "Guards.Integrity.Enabled: compares the call that runs with the one that was judged.",
        lambda guards: guards.integrity.enabled,
    ),
    Addition(
        "InformationFlow",
        "sophon_middlewares.guards.information_flow.information_flow",
        "Guards.InformationFlow.Enabled: follows private data and foreign text to where data leaves.",
        lambda guards: guards.information_flow.enabled,
    ),
    Addition(
        "Protection",
        "sophon_middlewares.guards.protection",
        "Guards.Protection.Enabled: keeps tools from the files of the host and of the agent.",
        lambda guards: guards.protection.enabled,
    ),
    Addition(
        "Shield",
        "sophon_middlewares.guards.shield.shield",
        "Guards.Shield.Enabled: judges a call by policy, heuristics, and if configured a model.",
        lambda guards: guards.shield.enabled,
    ),
    Addition(
        "Snapshot",
        "sophon_middlewares.guards.snapshot",
        "Guards.Snapshot.Enabled: copies files before a call changes them.",
        lambda guards: guards.snapshot.enabled,
    ),
    Addition(
        "Sandbox",
        "sophon_middlewares.guards.unsandboxed_programs",
        "Guards.Sandbox.Enabled: runs commands without network, in limits.",
        lambda guards: guards.sandbox.enabled,
    ),
    Addition(
        "Simulation",
        "sophon_middlewares.guards.simulation",
        "Guards.Simulation.Enabled: appends a model's advice about a risky call to its result.",
        lambda guards: guards.simulation.enabled,
    ),
)
"""The guards that settings add, outermost first."""

GUARD_ORDER: Final = tuple(each.name for each in GUARDS)


def find_additions(chain: Pipeline, services: Services, daily_log: DailyLog | None = None) -> Additions:
    """Return what the settings, with the constants of the chain, add to it; `daily_log` is for Memory.

    The chain itself may have some of them; one without tools has nothing to guard. Raises SettingsError.
    """
    settings = find_turn_settings(chain, services.settings)
    added = _create(ADDITIONS, services.with_parts(settings=settings))
    if "Memory" in added:
        added["Memory"] = Memory(find_memory_folder(services.settings, services.folder), daily_log=daily_log)
    has_tools = any("ToolExecution" in list_class_names(each) for each in chain)
    return {**added, **find_guards(settings.guards)} if has_tools else added


def find_guards(settings: GuardsSettings) -> Additions:
    """Return the guards that settings add, for a program that adds nothing else to its chain.

    Raises CompositionError for other settings.
    """
    if not isinstance(settings, GuardsSettings):  # pyright: ignore[reportUnnecessaryIsInstance] - of callers without types
        raise CompositionError("find_guards takes the settings of the guards: find_guards(services.settings.guards)")
    return _create(GUARDS, settings)


def explain_addition(name: str) -> str | None:
    """Return the sentence that says why a middleware is added; None for one that no setting adds."""
    reasons = {each.name: each.reason for each in ADDITIONS} | {each.name: each.reason for each in GUARDS}
    return reasons.get(name)


def learns_from_turns(settings: Settings) -> bool:
    """Return whether Learning and Scoring belong into chains that do not name them."""
    enabled = settings.learning.enabled
    return settings.routing.learns if enabled is None else enabled


def _create(table: Iterable[Addition[S]], settings: S) -> dict[str, Middleware]:
    return {
        each.name: cast(Middleware, getattr(import_module(each.module), each.name)())
        for each in table
        if each.is_wanted(settings)
    }
