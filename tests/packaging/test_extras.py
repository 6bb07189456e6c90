"""The extras of the distribution: a base environment runs a chain, and whatever is missing is named with its extra."""

import json

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from sophon.extras import EXTRA_BY_PACKAGE
from tests.packaging.environments import Ended, Program, run_with
from tests.packaging.module_imports import FOLDERS, find_file, list_foreign_packages, read_imports
from tests.packaging.requirements import EXTRAS, PROJECT, list_distributions, list_installed, list_missing_packages

CHAIN = """
import asyncio
from sophon import Services
from sophon_middlewares.chains import twelve

async def main():
    services = Services()
    async with services:
        chain = twelve(services)
        for text in ("what is 6 * 7?", "Remember that my cat is Ada", "What do you remember?"):
            print((await chain.run(services.turn(text, session_id="s"))).text)

asyncio.run(main())
"""
"""A chain in one's own process, with the offline model."""

TURN = """
import asyncio, json, threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from sophon import Services
from sophon_middlewares.chains import twelve

class Provider(BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        message = {"role": "assistant", "content": f"I am {asked['model']}"}
        data = json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass

server = HTTPServer(("127.0.0.1", 0), Provider)
threading.Thread(target=server.serve_forever, daemon=True).start()

async def main():
    url = f"http://127.0.0.1:{server.server_port}/v1"
    given = {"Id": "p", "Type": "groq", "Models": ["openai/gpt-oss-120b"], "Keys": ["k"], "BaseUrl": url}
    services = Services(settings={"Providers": [given], "Planning": {"Mode": "Never"}})
    async with services:
        print((await twelve(services).run(services.turn("Who are you?"))).text)

asyncio.run(main())
server.shutdown()
"""
"""A chain whose model is a provider on loopback, with a price in the table and the default limit on the cost."""

CLI = "from sophon_hosting.cli import main; main()"

PACKAGES = ("sophon", "sophon_middlewares", "sophon_middlewares.chains")
"""What is imported in a base environment. That of a host, and of channels, needs the extra `host`."""


def list_modules(package: str) -> list[str]:
    """Return the dotted names of the modules of a package, and its own."""
    [folder] = [each / package for each in FOLDERS if (each / package / "__init__.py").is_file()]
    files = [each for each in folder.rglob("*.py") if each.name != "__main__.py"]
    names = [".".join(each.relative_to(folder.parent).with_suffix("").parts) for each in files]
    return [name.removesuffix(".__init__") for name in names]


MEMORY = """
import json, os
from pathlib import Path
from sophon_hosting.cli.app import run_command_line

line = {"id": "a", "text": "Ada lives in Oslo", "created_at": "2026-01-01T00:00:00+00:00", "sources": []}
Path("in.jsonl").write_text(json.dumps(line))
for words in ("import in.jsonl", "list", "search Oslo", "export", "reindex", "correct a Bergen", "forget --all --yes"):
    print(words, "->", run_command_line(["memory", *words.split()]), flush=True)
os.environ["SOPHON__MEMORY__EMBEDDER"] = "null"
print("null", "->", run_command_line(["memory", "reindex"]), flush=True)
del os.environ["SOPHON__MEMORY__EMBEDDER"]
os.environ["SOPHON__EMBEDDINGS__PROVIDER"] = "Hashing"
print("set", "->", run_command_line(["memory", "list"]), flush=True)
"""
"""What is remembered, by the command line, with the embedder of the default and with one that was set."""

SERVER = 'Mcp.Servers=[{"Id": "notes", "Command": "notes"}]'
MISSING_MCP = 'MCP servers need the extra mcp: pip install "sophon-agents[mcp]"'

IMPORTS = """
import asyncio
from pathlib import Path
from sophon import Services
from sophon.learning.hashing_embedder import HashingEmbedder
from sophon.stores.factory import store_from_url
"""
MISSING = {
    "store": ('store_from_url("sqlite:///x.db", folder=Path())', "StoreError", "sqlalchemy", "host"),
    "embedder": (
        'Services(settings={"Embeddings": {"Provider": "OpenAi", "Model": "m"}, "Memory": {"Embedder": "Embeddings"}})',
        "SettingsError",
        "numpy",
        "vectors",
    ),
    "similarity to the question": (
        'Services(settings={"ContextWindow": {"Strategy": "Relevant"}})',
        "SettingsError",
        "numpy",
        "vectors",
    ),
    "own embedder": (
        "Services(embedder=HashingEmbedder())",
        "CompositionError",
        "numpy",
        "vectors",
    ),
    "provider": (
        'Services(settings={"Providers": [{"Id": "b", "Type": "bedrock", "Models": ["m"]}]})',
        "SettingsError",
        "litellm",
        "litellm",
    ),
    "guard": ("asyncio.run(Services().store.audit.list())", "StoreError", "sqlalchemy", "host"),
}
"""What a chain can ask for beyond the base: the program, the error, the package and the extra."""

IN_BASE = {
    "chain": Program(CHAIN),
    "turn": Program(TURN),
    **{f"sophon {words}": Program(CLI, words.split()) for words in ("", "--help", "serve", "chat hello", "doctor")},
    **{f"without {case}": Program(f"{IMPORTS}\n{code}") for case, (code, *_) in MISSING.items()},
}
WITH_SERVER = ("doctor --json", "serve --port 0", "chat hello", "config validate", "mcp list --json")
"""Commands, given settings with an MCP server."""

IN_HOST = {
    "chat": Program(CLI, ["chat", "what is 6 * 7?"]),
    "memory": Program(MEMORY),
    "doctor": Program(CLI, ["doctor", "--json"]),
    **{words: Program(CLI, ["--set", SERVER, *words.split()]) for words in WITH_SERVER},
}
OF_A_HOST = (
    *("sophon_hosting.cli.app", "sophon_hosting.host_server", "sophon_hosting.worker_server"),
    "sophon_channels.whatsapp.channel",
)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Ended]:
    """What the programs do that only need a chain, with the base packages only."""
    return run_with((), IN_BASE, tmp_path_factory.mktemp("base"), ["sophon_middlewares.chains"])


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Ended]:
    """What a host does with its own extra only, once all of it has been imported."""
    return run_with(["host"], IN_HOST, tmp_path_factory.mktemp("host"), OF_A_HOST)


def test_a_chain_runs_with_the_base_packages_only(base: dict[str, Ended]) -> None:
    done = base["chain"]
    assert done.returncode == 0, done.stderr
    assert "6 * 7 = 42" in done.stdout
    assert "your cat is Ada" in done.stdout.splitlines()[-1]


def test_a_provider_is_called_with_the_base_packages_only(base: dict[str, Ended]) -> None:
    done = base["turn"]
    assert (done.stdout.strip(), done.returncode) == ("I am openai/gpt-oss-120b", 0), done.stderr


def test_what_a_chain_imports_needs_no_extra() -> None:
    """By reading the imports: the module that names an optional package at its top is the one to correct."""
    missing = set(list_missing_packages())
    foreign = list_foreign_packages(PACKAGES)
    assert {name: file for name, file in foreign.items() if name in missing or name in EXTRA_BY_PACKAGE} == {}


def test_an_optional_package_is_imported_by_the_parts_that_need_it_only() -> None:
    """A module of the framework imports at its top what the base installs, or it is named here."""
    optional = {
        "sophon.stores": {"sqlalchemy", "alembic"},
        "sophon_hosting.features.mcp.client": {"mcp", "mcp_types", "httpx2"},
    }
    found: dict[str, str] = {}
    for name in (*list_modules("sophon"), *list_modules("sophon_middlewares")):
        file = find_file(name)
        assert file is not None
        allowed = next((each for prefix, each in optional.items() if name.startswith(f"{prefix}.")), set[str]())
        imported = {each.partition(".")[0] for each in read_imports(file)}
        if wrong := (imported & EXTRA_BY_PACKAGE.keys()) - allowed:
            found[name] = ", ".join(sorted(wrong))
    assert found == {}


def test_the_base_is_small() -> None:
    """About twenty packages, on any version of Python; an addition has to be worth it to whoever runs one chain."""
    assert len(list_installed()) <= 28, sorted(list_installed())


def test_each_optional_package_is_installed_by_its_extra_and_by_nothing_of_the_base() -> None:
    distributions, base = list_distributions(), list_installed()
    for package, extra in EXTRA_BY_PACKAGE.items():
        names = {canonicalize_name(each) for each in distributions.get(package, [package.replace("_", "-")])}
        assert names & list_installed(extra), f"{package} is not in the extra {extra}"
        assert not names & base, f"{package} is in the base"


def test_each_extra_installs_a_package_that_is_named_with_it() -> None:
    assert set(EXTRA_BY_PACKAGE.values()) == EXTRAS.keys() - {"all", "docs", "dev"}


def test_all_means_all() -> None:
    [every] = [Requirement(text) for text in EXTRAS["all"]]
    assert (every.name, every.extras) == (PROJECT["name"], EXTRAS.keys() - {"all", "docs", "dev"})


def test_the_command_without_its_extra_says_in_one_line_what_to_install(base: dict[str, Ended]) -> None:
    for name, done in base.items():
        if name.startswith("sophon"):
            assert (done.returncode, done.stdout) == (1, ""), name
            [line] = done.stderr.splitlines()
            assert line.endswith(': pip install "sophon-agents[host]"'), name


def test_a_host_needs_no_other_extra(host: dict[str, Ended]) -> None:
    done = host["chat"]
    assert (done.returncode, "42" in done.stdout) == (0, True), done.stderr


def test_what_is_remembered_is_managed_without_numpy_unless_an_embedder_was_set(host: dict[str, Ended]) -> None:
    done = host["memory"]
    codes = [line.rpartition(" -> ")[2] for line in done.stdout.splitlines() if " -> " in line]
    assert codes == [*"00000000", "1"], done.stderr
    assert "Ada lives in Oslo" in done.stdout
    command = 'pip install "sophon-agents[vectors]"'
    [reindexed, null] = [line for line in done.stdout.splitlines() if "index of words" in line]
    assert f"there are no vectors: they need numpy ({command})" in reindexed
    assert "Memory.Embedder is null" in null
    [refused] = done.stderr.splitlines()
    assert refused.endswith(f"Hashing needs numpy, which is not installed; {command}")


def test_doctor_notes_that_nothing_is_found_by_similarity_without_numpy(host: dict[str, Ended]) -> None:
    [found] = [each for each in json.loads(host["doctor"].stdout) if each["id"] == "embeddings"]
    assert (found["grade"], found["fix"]) == ("ok", 'pip install "sophon-agents[vectors]"')
    assert found["text"] == "none: numpy is not installed, so nothing is found by similarity"


def test_no_host_starts_with_mcp_servers_and_without_their_extra(host: dict[str, Ended]) -> None:
    [row] = json.loads(host["mcp list --json"].stdout)
    assert (row["state"], row["error"]) == ("failed", MISSING_MCP)
    for words in WITH_SERVER[:-1]:
        done = host[words]
        found = [each["text"] for each in json.loads(done.stdout)] if "json" in words else done.stderr.splitlines()
        assert done.returncode == 1, words
        assert sum(each.endswith(f"Mcp.Servers: {MISSING_MCP}") for each in found) == 1, words


def test_what_a_chain_lacks_is_named_with_the_command(base: dict[str, Ended]) -> None:
    for case, (_, kind, package, extra) in MISSING.items():
        last = base[f"without {case}"].stderr.splitlines()[-1]
        assert kind in last, case
        assert package in last, case
        assert last.endswith(f'pip install "sophon-agents[{extra}]"'), case
