"""Order of the chains of a host: what settings add stands where the list of the chain says, in anybody's chain, too."""

import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from sophon import Pipeline, Services
from sophon.chain.order_constraints import get_middleware_name
from sophon.chain.placement import place
from sophon.composition.expected_stages import find_expected_stages
from sophon_hosting.host_chain import build_configured_chain, build_own_chain
from sophon_hosting.runs.active_runs import ActiveRuns
from sophon_hosting.runs.checkpoints.checkpoint_store import Checkpoints
from sophon_middlewares import OffTheRecord
from sophon_middlewares.chains import CHAINS, twelve
from sophon_middlewares.chains.additions import ADDITIONS, GUARD_ORDER, explain_addition, find_additions
from sophon_middlewares.chains.additions import GUARDS as CHAIN_GUARDS

ORDERS: Mapping[str, Sequence[str]] = {
    name: names.split()
    for name, names in {
        "twelve": """
        SessionEvents Trace ReplyRedaction Learning Scoring Preferences Budget Agents CapabilityRouting ContextWindow
        Memory CustomTools Skills ToolFilter PromptToolBridge ActionAnnouncer ResponseValidator UrlOutcomes
        DecisionLayer Planning AgenticLoop Checkpoints ParallelExecution Audit Redaction Authorization RateLimit
        IntentGate OffTheRecord Integrity InformationFlow Protection Shield Snapshot Sandbox Simulation Approval
        ToolExecution LlmInvoker
        """,
        "clawdesk": """
        SessionEvents ReplyRedaction Trace Learning Scoring ChainDefaults PublishedStage Preferences Budget
        PublishedStage PublishedStage Agents CapabilityRouting ContextWindow Memory Skills PublishedStage ToolSplit
        CustomTools PromptToolBridge PublishedStage PublishedStage ActionAnnouncer ResponseValidator UrlOutcomes
        DecisionLayer AgenticLoop Checkpoints ParallelExecution Audit Redaction Authorization RateLimit IntentGate
        OffTheRecord Integrity InformationFlow Protection Shield Snapshot Sandbox Simulation Approval ToolExecution
        LlmInvoker
        """,
        "openparallax": """
        SessionEvents Trace Learning Scoring ChainDefaults Preferences Budget Agents CapabilityRouting SystemPrompt
        ContextWindow Memory Skills ToolsOnDemand ReplyRedaction CustomTools PromptToolBridge ActionAnnouncer
        ResponseValidator UrlOutcomes DecisionLayer AgenticLoop Checkpoints SequentialExecution Audit Redaction
        Authorization RateLimit IntentGate OffTheRecord Integrity InformationFlow Protection Shield Snapshot Sandbox
        Simulation Approval ToolExecution LlmInvoker
        """,
        "clawft": """
        SessionEvents Trace ReplyRedaction ChainDefaults Preferences Budget Agents CustomTools Skills ActionAnnouncer
        ResponseValidator UrlOutcomes DecisionLayer AgenticLoop Checkpoints ParallelExecution Audit Redaction
        Authorization RateLimit IntentGate OffTheRecord Integrity InformationFlow Protection Shield Snapshot Sandbox
        Simulation Approval ToolExecution Learning Scoring Classification CapabilityRouting Assembler Memory
        PromptToolBridge Transport
        """,
        "wasp": """
        SessionEvents Trace Learning Scoring ChainDefaults Preferences Budget Agents CapabilityRouting ContextWindow
        Memory Skills ToolSplit ReplyRedaction CustomTools PromptToolBridge DecisionLayer StageMark ActionAnnouncer
        ResponseValidator UrlOutcomes RequestBudget Planning AgenticLoop Checkpoints ParallelExecution Audit Redaction
        Authorization RateLimit IntentGate OffTheRecord Integrity InformationFlow Protection Shield Snapshot Sandbox
        Simulation Approval ToolExecution LlmInvoker
        """,
        "chains_of_one:around": """
        SessionEvents Trace ReplyRedaction Learning Scoring mine Preferences Budget Agents CapabilityRouting
        ContextWindow Memory mine CustomTools Skills ToolFilter PromptToolBridge ActionAnnouncer ResponseValidator
        UrlOutcomes DecisionLayer Planning AgenticLoop Checkpoints yours ParallelExecution Audit Redaction Authorization
        RateLimit IntentGate OffTheRecord Integrity InformationFlow Protection Shield Snapshot Sandbox Simulation
        Approval ToolExecution LlmInvoker
        """,
        "chains_of_one:small": """
        Trace ReplyRedaction Memory Agents CustomTools Skills Preferences ActionAnnouncer ResponseValidator UrlOutcomes
        DecisionLayer AgenticLoop Checkpoints Audit Redaction Authorization RateLimit IntentGate OffTheRecord Integrity
        InformationFlow Protection Shield Snapshot Sandbox Simulation ToolExecution LlmInvoker
        """,
    }.items()
}
"""Names of the middlewares with everything on, by chain: as they were before the lists had places."""

MODULE = """
from sophon import Pipeline
from sophon_middlewares import AgenticLoop, LlmInvoker, ToolExecution
from sophon_middlewares.chains import twelve


async def mine(ctx, next):
    await next(ctx)


async def yours(ctx, next):
    await next(ctx)


def around(services):
    parts = list(twelve(services))
    parts.insert(4, mine)
    parts.insert(9, yours)
    parts.insert(1, mine)
    return Pipeline.compose(*parts)


def small(services):
    return Pipeline.compose(AgenticLoop(), ToolExecution(), LlmInvoker())
"""
GUARDS = [
    *("Audit", "Redaction", "Authorization", "RateLimit", "IntentGate", "Integrity", "InformationFlow", "Protection"),
    *("Shield", "Snapshot", "Sandbox", "Simulation"),
]
SWITCHES = {
    "Traces.Enabled": ["Trace"],
    "Memory.Enabled": ["Memory"],
    "Preferences.Enabled": ["Preferences"],
    "Decisions.Enabled": ["DecisionLayer"],
    "Learning.Enabled": ["Learning", "Scoring"],
    "Replies.UrlOutcomes": ["UrlOutcomes"],
    "Replies.Validator.Enabled": ["ResponseValidator"],
    "Replies.Announcer.Enabled": ["ActionAnnouncer"],
    "CustomTools.Enabled": ["CustomTools"],
    "Agents.Worker": ["Agents"],
    **{f"Guards.{name}.Enabled": [name] for name in GUARDS},
    "Guards.Redaction.Enabled": ["Redaction", "ReplyRedaction"],
}
"""Each setting, with what it adds."""


class Unused:
    """Stands for the bus of a host, which nothing asks."""


def list_off_switches() -> Iterator[frozenset[str]]:
    """Yield which switches are off: none, each alone, all, and some of them."""
    yield frozenset()
    yield from (frozenset({path}) for path in SWITCHES)
    yield frozenset(SWITCHES)
    chance = random.Random(31)
    for share in (0.2, 0.5, 0.8):
        yield from (frozenset(path for path in SWITCHES if chance.random() < share) for _ in range(2))


def build_services(folder: Path, name: str, off: frozenset[str]) -> Services:
    (folder / "chains_of_one.py").write_text(MODULE)
    settings: dict[str, Any] = {"Chain": {"Factory" if ":" in name else "Name": name}}
    for path in SWITCHES:
        *sections, last = path.split(".")
        section = settings
        for each in sections:
            section = section.setdefault(each, {})
        section[last] = path not in off
    return Services(settings=settings, folder=folder)


def complete(chain: Pipeline) -> Sequence[str]:
    """Return the names of the chain with what a host adds besides the settings."""
    bus: Any = Unused()
    with_record = place(chain, [OffTheRecord()], GUARD_ORDER)
    return [get_middleware_name(each) for each in place(with_record, [Checkpoints(ActiveRuns(), bus)])]


@pytest.mark.parametrize("name", ORDERS)
def test_whatever_is_off_the_others_stand_in_the_order_of_the_whole_chain(name: str, tmp_path: Path) -> None:
    for off in list_off_switches():
        services = build_services(tmp_path, name, off)
        own = {get_middleware_name(each) for each in build_own_chain(services)}
        missing = {each for path in off for each in SWITCHES[path]} - own | {"Skills"}
        assert complete(build_configured_chain(services)) == [each for each in ORDERS[name] if each not in missing]


@pytest.mark.parametrize("name", CHAINS)
def test_the_places_of_a_list_are_where_anybody_would_be_given_them(name: str, tmp_path: Path) -> None:
    services = build_services(tmp_path, name, frozenset())
    own = CHAINS[name](services)
    added = find_additions(own, services)
    bus: Any = Unused()
    everything = {**added, "OffTheRecord": OffTheRecord(), "Checkpoints": Checkpoints(ActiveRuns(), bus)}
    filled = [get_middleware_name(each) for each in CHAINS[name](services, everything)]
    assert filled == complete(place(own, added.values(), GUARD_ORDER))


def test_a_host_without_settings_runs_twelve_and_what_has_a_reason() -> None:
    services = Services()
    own = [get_middleware_name(each) for each in twelve(services)]
    complete = [get_middleware_name(each) for each in build_configured_chain(services)]
    assert (len(own), len(complete)) == (12, 24)
    assert [name for name in complete if name in own] == own
    assert all(explain_addition(name) for name in complete if name not in own)


def test_the_switches_are_those_of_the_tables() -> None:
    added = {each.name for each in (*ADDITIONS, *CHAIN_GUARDS)}
    # Skills need a folder that exists, OffTheRecord a host of such conversations.
    assert {name for names in SWITCHES.values() for name in names} | {"Skills", "OffTheRecord"} == added


@pytest.mark.parametrize("name", CHAINS)
def test_each_chain_has_a_place_for_whatever_a_setting_adds(name: str) -> None:
    for each in (*ADDITIONS, *CHAIN_GUARDS):

        async def call(self: Any, ctx: Any, next: Any) -> None:
            await next(ctx)

        stand_in = type(each.name, (), {"__call__": call})()
        assert each.name in [get_middleware_name(one) for one in CHAINS[name](Services(), {each.name: stand_in})]


def test_a_program_is_warned_of_each_setting_whose_middleware_its_chain_has_not(tmp_path: Path) -> None:
    expected = find_expected_stages(build_services(tmp_path, "twelve", frozenset()).settings)
    # Scoring stands with Learning, ReplyRedaction with Redaction; Memory is on unless it is switched off.
    followed = {name for stages in expected.values() for name in stages} | {"Scoring", "ReplyRedaction", "Memory"}
    assert {name for names in SWITCHES.values() for name in names} <= followed
