"""Additions: which guards settings add to which chain, and where they stand."""

import re
import subprocess
import sys
from importlib import import_module
from typing import Any

from sophon import Pipeline
from sophon.chain.order_constraints import get_middleware_name
from sophon.chain.placement import place
from sophon.services import Services
from sophon.settings import GuardsSettings
from sophon_hosting.host_chain import build_configured_chain
from sophon_middlewares import AgenticLoop, LlmInvoker, ToolExecution
from sophon_middlewares.chains import CHAINS, twelve
from sophon_middlewares.chains.additions import ADDITIONS, GUARD_ORDER, GUARDS, Addition, find_additions, find_guards
from sophon_middlewares.guards.protection import Protection
from tests.tables import table

ON = GuardsSettings()


STANDARD = ["Audit", "Redaction", "RateLimit", "Integrity", "InformationFlow", "Protection", "Shield", "Snapshot"]
"""The guards around the tool call that stand without any setting, in their order."""


def names(chain: Pipeline) -> list[str]:
    return [get_middleware_name(each) for each in chain]


def test_the_guards_stand_in_front_of_the_approval() -> None:
    chain = names(build_configured_chain(Services()))
    before, after = chain.index("ParallelExecution"), chain.index("Approval")
    assert chain[before + 1 : after] == STANDARD


def test_twelve_stays_twelve() -> None:
    assert len(twelve(Services())) == 12


@table("name", [*CHAINS])
def test_whatever_asks_a_model_in_front_of_the_loop_is_redacted_too(name: str) -> None:
    chain = names(CHAINS[name](Services(), find_guards(ON)))
    assert chain.index("ReplyRedaction") < min(chain.index(each) for each in ("PromptToolBridge", "AgenticLoop"))
    assert names(twelve(Services(), find_guards(ON)))[:2] == ["SessionEvents", "ReplyRedaction"]


def test_without_redaction_no_model_call_is_redacted() -> None:
    off = GuardsSettings.model_validate({"Redaction": {"Enabled": False}})
    assert "ReplyRedaction" not in names(twelve(Services(), find_guards(off)))


@table("guard", STANDARD)
def test_a_guard_that_is_off_does_not_stand(guard: str) -> None:
    settings = GuardsSettings.model_validate({guard: {"Enabled": False}})
    chain = names(twelve(Services(), find_guards(settings)))
    assert guard not in chain
    stay = [name for name in STANDARD if name != guard]
    assert [name for name in chain if name in STANDARD] == stay


def test_a_chain_without_an_approval_is_guarded_in_front_of_its_tools() -> None:
    chain = Pipeline.compose(AgenticLoop(), ToolExecution(), LlmInvoker())
    assert names(place(chain, find_guards(ON).values(), GUARD_ORDER)) == [
        *("ReplyRedaction", "AgenticLoop"),
        *STANDARD,
        *("ToolExecution", "LlmInvoker"),
    ]


def test_a_guard_of_the_chains_own_is_not_doubled() -> None:
    chain = Pipeline.compose(AgenticLoop(), Protection(), ToolExecution(), LlmInvoker())
    off = {name: {"Enabled": False} for name in STANDARD if name != "Protection"}
    assert names(place(chain, find_guards(GuardsSettings.model_validate(off)).values(), GUARD_ORDER)) == names(chain)


def test_the_audit_stands_outside_a_guard_of_the_chains_own() -> None:
    chain = Pipeline.compose(AgenticLoop(), Protection(), ToolExecution(), LlmInvoker())
    assert names(place(chain, find_guards(ON).values(), GUARD_ORDER)) == [
        *("ReplyRedaction", "AgenticLoop"),
        *STANDARD,
        *("ToolExecution", "LlmInvoker"),
    ]


def test_a_chain_without_tools_needs_no_guards() -> None:
    chain = Pipeline.compose(LlmInvoker())
    assert not find_additions(chain, Services()).keys() & {"ReplyRedaction", *GUARD_ORDER}


def test_a_chain_of_a_class_of_its_own_stays_one() -> None:
    class Own(Pipeline):
        pass

    assert isinstance(place(Own(twelve(Services())), find_guards(ON).values(), GUARD_ORDER), Own)


@table("addition", [*ADDITIONS, *GUARDS])
def test_each_line_of_the_table_names_a_class_and_a_setting(addition: Addition[Any]) -> None:
    assert get_middleware_name(getattr(import_module(addition.module), addition.name)()) == addition.name
    assert addition.reason.endswith(".")
    if addition.name != "OffTheRecord":
        assert re.match(r"[A-Z]\w+\.[A-Z][\w.]+", addition.reason)


def test_a_module_is_loaded_only_for_what_is_wanted() -> None:
    code = (
        "import sys; from sophon import Services; from sophon_hosting.host_chain import build_configured_chain;"
        "build_configured_chain(Services()); print([each for each in sys.modules if 'simulation' in each])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
