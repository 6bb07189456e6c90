"""docs/chains.md: constants, stages and events of the five chains are what the page says."""

import importlib
import json
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from sophon import Services
from sophon.settings import Settings
from sophon_middlewares.chains import CHAINS
from sophon_middlewares.chains.published_constants import DEFAULTS
from sophon_middlewares.stages.chain_defaults import complete_settings

PAGE = (Path(__file__).parents[2] / "docs" / "chains.md").read_text(encoding="utf-8")
CONSTANTS = re.findall(r"^\| `(\w+)` \| (.+?) \| `(.+?)` \| `([\w.]+)` \|$", PAGE, re.MULTILINE)
STAGES = {
    chain: re.findall(r"^\| (\d\w* \w+) \| (.+?) \| .*\|$", part, re.MULTILINE)
    for chain, part in re.findall(
        r"^## Stages of `(\w+)`\n(.+?)(?=^## |^The stages of)", PAGE, re.MULTILINE | re.DOTALL
    )
}


def read(chain: str, path: str) -> Any:
    """Return the value of a Python name, or of a setting in a host that has set nothing; durations in seconds."""
    if path.startswith("sophon."):
        module, name = path.rsplit(".", 1)
        return getattr(importlib.import_module(module), name)
    value: Any = complete_settings(Settings.from_mapping({}), DEFAULTS[chain])
    for part in path.split("."):
        value = getattr(value, re.sub(r"(?<!^)(?=[A-Z])", "_", part).lower())
    return value.total_seconds() if isinstance(value, timedelta) else value


@pytest.mark.parametrize(("chain", "what", "value", "path"), CONSTANTS)
def test_a_constant_is_what_the_page_says(chain: str, what: str, value: str, path: str) -> None:
    assert read(chain, path) == json.loads(value), what


def test_the_tables_are_found() -> None:
    assert len(CONSTANTS) == 46
    assert {chain: len(rows) for chain, rows in STAGES.items()} == {
        "twelve": 12,
        "clawdesk": 6,
        "openparallax": 17,
        "wasp": 14,
    }


def test_every_constant_of_a_chain_is_on_the_page() -> None:
    def count(values: Any) -> int:
        return sum(count(value) if isinstance(value, dict) else 1 for value in values.values())

    for chain, defaults in DEFAULTS.items():
        named = {path for name, _, _, path in CONSTANTS if name == chain and not path.startswith("sophon.")}
        missing = [each for each in list_paths(defaults) if each not in named]
        assert missing == [], chain


def list_paths(values: Any, prefix: str = "") -> list[str]:
    paths: list[str] = []
    for name, value in values.items():
        path = prefix + name.title().replace("_", "")
        paths += list_paths(value, f"{path}.") if isinstance(value, dict) else [path]
    return paths


@pytest.mark.parametrize("chain", STAGES)
def test_each_stage_is_made_of_middlewares_of_the_chain_and_named_by_its_explanation(chain: str) -> None:
    pipeline = CHAINS[chain](Services())
    names = {type(each).__name__ for each in pipeline}
    explained = " ".join(pipeline.explain().split())
    for stage, ours in STAGES[chain]:
        parts = re.findall(r"`(\w+)`", ours)
        assert parts, stage
        assert set(parts) <= names, stage
        if chain != "twelve":  # its middlewares have the published names themselves
            assert stage.partition(" ")[2] in explained, stage


@pytest.mark.parametrize("chain", ["clawdesk", "openparallax", "wasp"])
def test_every_middleware_is_part_of_a_stage_or_of_what_all_chains_have(chain: str) -> None:
    common = {
        "Trace",
        "ChainDefaults",
        "Budget",
        "CapabilityRouting",
        "PromptToolBridge",
        "StageMark",
        "PublishedStage",
        "Approval",
    }
    named = {name for _, ours in STAGES[chain] for name in re.findall(r"`(\w+)`", ours)}
    assert {type(each).__name__ for each in CHAINS[chain](Services())} - named <= common


TRACED = set(re.findall(r"^\| `(\w+)` \| \w+ \| `Trace` \|", PAGE, re.MULTILINE))


@pytest.mark.parametrize("chain", CHAINS)
async def test_the_chains_whose_pipelines_write_a_trace_have_it_by_themselves(chain: str) -> None:
    services = Services()
    await CHAINS[chain](services).run(services.turn("What is 2 + 2?", session_id="s"))
    traces = await services.store.traces.list()
    assert [each.finish_reason for each in traces] == (["stop"] if chain in TRACED else [])


@pytest.mark.parametrize("chain", sorted(TRACED))
async def test_a_chain_writes_no_trace_where_traces_are_off(chain: str) -> None:
    services = Services(settings={"Traces": {"Enabled": False}})
    pipeline = CHAINS[chain](services)
    await pipeline.run(services.turn("What is 2 + 2?", session_id="s"))
    assert await services.store.traces.list() == []
    assert "Trace" not in {type(each).__name__ for each in pipeline}


def test_two_chains_write_traces() -> None:
    assert {"clawdesk", "wasp"} == TRACED
