"""The names that users rely on can be imported, and importing the framework loads nothing heavy."""

import ast
import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.databases import copy_database

ROOT = Path(__file__).parents[2]
FOLDERS = [str(ROOT / folder) for folder in (".", "middlewares", "hosting", "channels")]
HOST_UNUSED = [
    *("rich", "pygments", "markdown_it", "alembic", "litellm", "openai", "httpx", "networkx", "tiktoken", "aiogram"),
    *("requests", "urllib3", "charset_normalizer", "psycopg", "opentelemetry", "mcp", "mcp_types", "httpx2"),
]
"""Packages that a host with the offline model and an SQLite store has no use for, not even after a turn."""
READY_HOST_UNUSED = frozenset({"pydantic", "pydantic_core", "typer", "yaml", "re2", "jsonschema", "certifi"})
"""What a host with valid settings and no client has not loaded: it judges what is invalid, what a tool needs, or reads
files that are not there.
"""
OF_GOALS = (
    "sophon_hosting.features.goals.engine",
    "sophon_hosting.features.goals.governor",
    "sophon_hosting.features.goals.tools",
    "sophon_hosting.features.goals.planner.planner_prompts",
)
"""What only a host with goals loads: not the rules that its store knows."""
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
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


CHAIN = "from sophon import Services\nfrom sophon_middlewares.chains import twelve\ntwelve(Services())"


def test_importing_loads_nothing_heavy() -> None:
    code = "import sophon_middlewares\nfrom sophon.testing import FunctionModel, VirtualClock"
    assert loaded_by(code).isdisjoint(HEAVY)


CHAIN_UNUSED = frozenset(
    {
        *HEAVY,
        *("pydantic", "pydantic_core", "annotated_types", "yaml", "re2", "tree_sitter", "tiktoken"),
        *("decimal", "fractions", "shutil", "lzma", "email", "http"),
    }
)
"""What the default chain does not load before its first turn: what validates given values, the parsers of the guards,
and parts of the standard library that single tools need.
"""


def test_a_chain_loads_nothing_that_only_few_turns_need() -> None:
    """What `import sophon` and a pipeline of one's own load is part of that."""
    loaded = modules_loaded_by(f"{CHAIN}\nfrom sophon import Pipeline, Context, Message, tool, Risk")
    assert {name.partition(".")[0] for name in loaded} & CHAIN_UNUSED == set()
    assert "sophon.services" in loaded
    unused = (
        *("sophon.models.providers.provider_factory", "sophon.models.providers.openai", "sophon.plugins."),
        *("sophon_middlewares.guards", "sophon.security.policy", "sophon.processes", "sophon.settings.json_schema"),
    )
    assert [name for name in loaded if name.startswith(unused)] == []


def test_what_is_loaded_late_is_loaded_when_it_is_used() -> None:
    """The counterpart of the rules above: pydantic does validate settings and arguments."""
    code = """
import sys
from sophon import Services
from sophon.errors import InvalidArguments, SettingsError
services = Services()
assert "pydantic" not in sys.modules
try:
    services.registry.find("calculator").schema.validate("calculator", {"expression": 1})
    raise AssertionError
except InvalidArguments:
    pass
try:
    Services(settings={"Hub": {"Port": "x"}})
    raise AssertionError
except SettingsError:
    pass
"""
    assert "pydantic" in loaded_by(code)


HOST = """
import asyncio, urllib.request
from pathlib import Path
import sophon_hosting.programs.serve_host  # what the command imports
from sophon.security import redact
from sophon.security.linear_patterns import compile_linear
from sophon.services import Services
from sophon.settings import Settings
from sophon_middlewares.chains.chain_settings import complete_for_chain
from sophon_hosting.host_server import HostServer, bind_address
from sophon_hosting.features.goals.feature import GOAL_ENGINE
from sophon_hosting.store.factory import host_store_from_url

def make_services(**sections):
    settings = complete_for_chain(Settings.from_mapping(sections))
    return Services.from_settings(settings, environment={}, folder=Path(), make_store=host_store_from_url)

async def answer(services, text):
    server = HostServer(services, {})
    address = bind_address("127.0.0.1", 0)
    with address.socket:
        await server.start(address)
        check_ready((await asyncio.to_thread(urllib.request.urlopen, f"{address.url}/readyz")).status, server)
        server._load_tools()  # as a client does that connects
        await server._tools_task
        await server._warm_up_task
        redact("Bearer abcdefghijklmnopqrstuvwxyz password=hunter2")  # has patterns of its own
        before = compile_linear.cache_info().misses
        response = await server.host.chain.run(services.turn(text, session_id="demo"))
        compiled = compile_linear.cache_info().misses - before
        await server.shutdown(1)
    return response.text, compiled
"""


def modules_of_a_host(folder: Path, code: str) -> set[str]:
    """All modules that a host has loaded in a process of its own, in a folder with a store."""
    copy_database(folder)
    return modules_loaded_by(f"import os\nos.chdir({str(folder)!r})\n{HOST}\n{code}")


def test_a_host_that_is_ready_and_has_answered_has_loaded_only_what_it_uses(tmp_path: Path) -> None:
    code = f"""
def check_ready(status, server):
    assert status == 200
    names = {{name.partition(".")[0] for name in sys.modules}}
    assert names.isdisjoint({sorted(READY_HOST_UNUSED)!r}), names
    assert server.host.feature_services.find(GOAL_ENGINE) is None

provider = {{"Id": "p", "Type": "openai_compatible", "BaseUrl": "http://127.0.0.1:9/v1", "Models": ["m"]}}
make_services(Providers=[provider])  # an adapter of its own: neither litellm nor openai
answered, compiled = asyncio.run(answer(make_services(Goals={{"Enabled": False}}), "what is 6 * 7?"))
assert "42" in answered, answered
assert compiled > 0, "what only rules need has been compiled in advance"
assert "pydantic" in sys.modules
"""
    loaded = modules_of_a_host(tmp_path, code)
    assert {name.partition(".")[0] for name in loaded}.isdisjoint(HOST_UNUSED)
    unused = (
        *("sqlalchemy.orm", "sqlalchemy.dialects.postgresql", "sophon_hosting.features.mcp.client", "sophon.agents"),
        *("sophon.turn.agent", "sophon.decisions.grammar_compilation", *OF_GOALS),
    )
    assert not [name for name in loaded if name.startswith(unused)]


def test_a_host_with_goals_and_rules_loads_both_and_no_message_waits_for_the_grammars(tmp_path: Path) -> None:
    """Those of a host that decides by rules are compiled when it is ready; the first message compiles none."""
    code = """
def check_ready(status, server):
    assert server.host.feature_services.find(GOAL_ENGINE) is not None

services = make_services(Chain={"Name": "wasp"}, Goals={"Enabled": True})
_, compiled = asyncio.run(answer(services, "Good morning to whoever reads this"))
assert compiled == 0, compiled
"""
    loaded = modules_of_a_host(tmp_path, code)
    assert {"sophon.decisions.grammar_compilation", OF_GOALS[0], OF_GOALS[2]} <= loaded


def test_a_turn_in_the_terminal_loads_no_server(tmp_path: Path) -> None:
    copy_database(tmp_path)
    code = f"""
import os
os.chdir({str(tmp_path)!r})
from sophon_hosting.cli.app import run_command_line
assert run_command_line(["chat", "hello"]) == 0
"""
    unused = {*HOST_UNUSED, "aiohttp", "socketio", "engineio", "prometheus_client"} - {"rich"}
    assert loaded_by(code).isdisjoint(unused)


def test_a_command_that_asks_a_host_loads_no_server() -> None:
    loaded = loaded_by("import sophon_hosting.cli.remote.host_selection")
    assert loaded.isdisjoint({"aiohttp", "socketio", "engineio", "prometheus_client", "pydantic"})


def test_serve_with_plain_options_loads_no_typer(tmp_path: Path) -> None:
    """A mistake of the settings ends the command before it serves; whatever is not plain is left to typer."""
    (tmp_path / "appsettings.json").write_text('{"Sophon": {"Hub": {"Host": ""}}}')
    code = f"""
import os
os.chdir({str(tmp_path)!r})
from sophon_hosting.programs.direct_serve import run_serve
assert run_serve(["serve", "--port", "0", "--log", "text", "--set", "Logging.Level=Error"]) == 1
for line in ("serve --help|serve --port x|serve --port 65536|serve --por 1|serve serve|serve --port|serve --port=1|"
             "serve -- --port 1|chat||--debug").split("|"):
    words = line.split()
    assert run_serve(words) is None, words
"""
    assert "typer" not in loaded_by(code)


def test_help_loads_the_command_line_only() -> None:
    code = "from sophon_hosting.cli.app import run_command_line\nassert run_command_line(['--help']) == 0"
    assert loaded_by(code).isdisjoint({*HOST_UNUSED, *HEAVY, "pydantic", "anyio", "asyncio", "sophon"} - {"typer"})


def test_dataclasses_are_compiled_at_first_use() -> None:
    """The standard decorator costs half a millisecond of every start; see decision 36."""
    standard: list[str] = []
    for folder in ("sophon", "middlewares", "hosting", "channels"):
        for file in (ROOT / folder).rglob("*.py"):
            if "node_modules" in file.parts or "testing" in file.parts:
                continue
            text = file.read_text()
            if "from dataclasses import" not in text:
                continue
            imports = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom)]
            names = [each.name for node in imports if node.module == "dataclasses" for each in node.names]
            standard += [str(file.relative_to(ROOT))] if "dataclass" in names else []
    # `sophon --help` imports nothing of `sophon`.
    assert sorted(standard) == ["hosting/sophon_hosting/cli/global_options.py", "sophon/_python/lazy_dataclass.py"]


def test_every_name_of_the_contract_can_be_imported() -> None:
    for module, names in CONTRACT.items():
        imported = importlib.import_module(module)
        assert [name for name in names.split() if not hasattr(imported, name)] == [], module


def test_all_names_what_is_there_and_what_the_contract_names() -> None:
    for module in ("sophon", "sophon_middlewares", "sophon.testing", "sophon.plans", "sophon.tools"):
        imported = importlib.import_module(module)
        assert [name for name in imported.__all__ if not hasattr(imported, name)] == []
        assert set(CONTRACT[module].split()) <= set(imported.__all__), module
        assert len(set(imported.__all__)) == len(imported.__all__), module


def test_an_unknown_name_is_an_ordinary_error() -> None:
    with pytest.raises(ImportError):
        from sophon import Nonsense  # noqa: F401 - it must not exist
