"""The folders of the two zones hold the middlewares of the default chain and nothing else."""

import importlib
from pathlib import Path

import sophon_middlewares
from sophon import Services
from sophon.chain.order_constraints import get_middleware_name
from sophon_middlewares.chains import twelve
from tests.tables import table

FOLDERS = Path(sophon_middlewares.__file__).parent
TWELVE = {
    "outer": {
        "session_events": "SessionEvents",
        "budget": "Budget",
        "capability_routing": "CapabilityRouting",
        "context_window": "ContextWindow",
        "tool_filter": "ToolFilter",
        "prompt_tool_bridge": "PromptToolBridge",
        "planning": "Planning",
    },
    "inner": {
        "agentic_loop": "AgenticLoop",
        "parallel_execution": "ParallelExecution",
        "approval": "Approval",
        "tool_execution": "ToolExecution",
        "llm_invoker": "LlmInvoker",
    },
}


@table("zone", TWELVE)
def test_a_zone_holds_exactly_its_middlewares(zone: str) -> None:
    found = {path.stem for path in (FOLDERS / zone).iterdir() if path.is_dir() or path.suffix == ".py"}
    assert found - {"__init__", "__pycache__"} == set(TWELVE[zone])


def test_the_default_chain_is_the_twelve_in_their_order_each_from_the_module_of_its_name() -> None:
    names = [(zone, *each) for zone, modules in TWELVE.items() for each in modules.items()]
    chain = list(twelve(Services()))
    assert [get_middleware_name(each) for each in chain] == [name for _, _, name in names]
    for middleware, (zone, module, name) in zip(chain, names, strict=True):
        path = f"sophon_middlewares.{zone}.{module}"
        path = f"{path}.{module}" if (FOLDERS / zone / module).is_dir() else path
        assert type(middleware) is getattr(importlib.import_module(path), name)
