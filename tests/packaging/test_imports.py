"""The names that users rely on can be imported, and importing the framework loads nothing heavy."""

import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = [str(ROOT / folder) for folder in (".", "middlewares", "hosting", "channels")]
HEAVY = ["litellm", "sqlalchemy", "httpx", "networkx", "rich", "typer", "aiohttp", "openai", "alembic", "aiosqlite"]

CONTRACT = {
    "sophon": """Pipeline Context Middleware Next Services Response Message ToolCall ToolResult Usage ModelRequest
        ModelResponse Tool ToolRegistry Risk tool Decision SophonError""",
    "sophon_middlewares": """SessionEvents Budget CapabilityRouting ContextWindow ToolFilter PromptToolBridge Planning
        AgenticLoop ParallelExecution Approval ToolExecution LlmInvoker""",
    "sophon_middlewares.chains": "twelve",
    "sophon.testing": "FunctionModel ScriptedModel VirtualClock EventRecorder assert_valid_transcript",
    "sophon.plans": "heuristic_score",
    "sophon.tools": "truncate SsrfGuard",
    "sophon.events": "StreamChunk ToolCallStarted ToolCallCompleted TaskFailed",
}


def loaded_by(code: str) -> set[str]:
    """The top-level modules that a fresh interpreter holds after running some code."""
    return {name.partition(".")[0] for name in modules_loaded_by(code)}


def modules_loaded_by(code: str) -> set[str]:
    """All modules that a fresh interpreter holds after running some code."""
    program = f"import sys, json; sys.path[:0] = {FOLDERS!r}\n{code}\nprint(json.dumps(list(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize(
    "code",
    [
        "import sophon",
        "from sophon import Pipeline, Services, Context, Message, tool, Risk",
        "import sophon_middlewares",
        "from sophon.testing import FunctionModel, VirtualClock",
    ],
)
def test_importing_loads_nothing_heavy(code: str) -> None:
    assert loaded_by(code).isdisjoint(HEAVY)


def test_a_chain_with_its_own_model_loads_no_kinds_of_providers_and_no_plug_ins() -> None:
    loaded = modules_loaded_by(
        "from sophon import Services\nfrom sophon_middlewares.chains import twelve\ntwelve(Services())"
    )
    assert "sophon.services" in loaded
    assert "sophon.models.providers.factory" not in loaded
    assert not [name for name in loaded if name.startswith(("sophon.models.providers.openai", "sophon.plugins."))]


def test_a_host_loads_nothing_that_only_a_terminal_a_migration_or_litellm_needs() -> None:
    code = """
import sophon_hosting.host_server, sophon.stores.sql_store, sophon.models.providers.factory
from sophon_hosting.cli.console.output import write_lines
write_lines(["it listens"])
"""
    assert loaded_by(code).isdisjoint(["rich", "alembic", "litellm", "openai", "networkx", "tiktoken", "aiogram"])


def test_a_chain_alone_does_not_load_pydantic() -> None:
    assert "pydantic" not in loaded_by("from sophon import Context, Pipeline")


@pytest.mark.parametrize("module", CONTRACT)
def test_every_name_of_the_contract_can_be_imported(module: str) -> None:
    names = CONTRACT[module].split()
    imported = importlib.import_module(module)
    assert [name for name in names if not hasattr(imported, name)] == []


@pytest.mark.parametrize("module", ["sophon", "sophon_middlewares", "sophon.testing", "sophon.plans", "sophon.tools"])
def test_all_names_what_is_there_and_what_the_contract_names(module: str) -> None:
    imported = importlib.import_module(module)
    missing = [name for name in imported.__all__ if not hasattr(imported, name)]
    assert missing == []
    assert set(CONTRACT[module].split()) <= set(imported.__all__)
    assert len(set(imported.__all__)) == len(imported.__all__)


def test_an_unknown_name_is_an_ordinary_error() -> None:
    with pytest.raises(ImportError):
        from sophon import Nonsense  # noqa: F401 - it must not exist


def test_a_whole_turn_on_embedded_defaults_loads_nothing_that_it_does_not_need() -> None:
    code = """
import asyncio
from sophon import Pipeline, Services
from sophon.testing import FunctionModel
from sophon_middlewares import AgenticLoop, LlmInvoker, ToolExecution
async def answer(request):
    return "ok"
services = Services(models=FunctionModel(answer))
chain = Pipeline.compose(AgenticLoop(), ToolExecution(), LlmInvoker())
assert asyncio.run(chain.run(services.turn("go"))).text == "ok"
"""
    assert loaded_by(code).isdisjoint(["litellm", "networkx", "rich", "typer", "aiohttp", "openai"])
