"""Law: an object works once it is constructed; what it needs later is an argument of its constructor or of a method.

Read from the sources: nobody assigns to an attribute of an object that somebody else has made. Records are assigned to,
since they are made to change: fields of data classes, the context of a turn, rows and states.
"""

import ast
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("sophon", "middlewares/sophon_middlewares", "hosting/sophon_hosting", "channels/sophon_channels")

RECORDS = frozenset(
    [
        "_batches",
        "_ctx",
        "_effects",
        "_get",
        "_health",
        "_number",
        "_states",
        "_stream",
        "active_run",
        "cancellation",
        "choices",
        "ctx",
        "elsewhere",
        "error",
        "event",
        "frame",
        "health",
        "item",
        "job",
        "lane",
        "lease",
        "message",
        "output",
        "parts",
        "_parts",
        "progress",
        "provider",
        "reply",
        "request",
        "response",
        "row",
        "state",
        "streams",
        "tally",
        "token",
        "turn",
        "window",
    ]
)
"""Names under which records are held whose fields have names that classes with a constructor of their own use, too."""

EXCEPTIONS = {
    # Attributes of other people's objects, which have no other way.
    "sophon/models/providers/litellm/loader.py": "litellm",
    "sophon/models/providers/http/response.py": "arguments of an exception",
    "hosting/sophon_hosting/cli/app.py": "the context of Typer",
    "hosting/sophon_hosting/store_lease.py": "the file of an OSError",
    "hosting/sophon_hosting/observability/log_context.py": "records of logging",
    "hosting/sophon_hosting/hub/protocol/socketio_server.py": "python-engineio",
    "hosting/sophon_hosting/features/mcp/client/supervised_server.py": "asyncio.Timeout",
    "hosting/sophon_hosting/programs/allocator_limits.py": "ctypes",
    "hosting/sophon_hosting/programs/process_hardening.py": "ctypes",
    "hosting/sophon_hosting/programs/chat/rendering/markdown_blocks.py": "tokens of markdown-it",
    "hosting/sophon_hosting/queue/postgresql/connecting.py": "psycopg",
    "sophon/stores/sql/thread_connections.py": "thread-local storage",
    # Records with a constructor of their own: state that changes, which somebody else keeps.
    "sophon/context/state.py": "the extensions of a turn",
    "sophon/models/providers/anthropic/response.py": "the status of an error",
    "sophon/security/commands/evaluation/command_effects.py": "variables of a script",
    "sophon/security/commands/evaluation/expansion.py": "variables of a script",
    "middlewares/sophon_middlewares/outer/session_events/session_events.py": "the cancellation of a turn",
    "middlewares/sophon_middlewares/outer/capability_routing/route_observation.py": "observations of a turn",
    "hosting/sophon_hosting/events/exchange.py": "a session elsewhere",
    "hosting/sophon_hosting/fanout/connected.py": "what is listened to",
    "hosting/sophon_hosting/fanout/local.py": "what is listened to",
    "hosting/sophon_hosting/hub/packet_dispatcher.py": "a connection's unfinished packet",
    "hosting/sophon_hosting/queue/postgresql/queue.py": "the rate of the other processes",
    "hosting/sophon_hosting/queue/rabbitmq/ledger.py": "a message of the ledger",
    "sophon/composition/configured_parts.py": "default prices of providers that a program has made",
}
"""Files with such an assignment, each with what it assigns to."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


def read_sources() -> dict[str, ast.Module]:
    """Return the modules of the four packages; those that mend the language itself are left out."""
    paths = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
    return {
        path.relative_to(ROOT).as_posix(): ast.parse(path.read_text("utf-8"))
        for path in paths
        if "_python" not in path.parts
    }


@cache
def nodes(root: ast.AST) -> list[ast.AST]:
    return [*ast.walk(root)]


def classes(modules: dict[str, ast.Module]) -> Iterator[ast.ClassDef]:
    return (node for module in modules.values() for node in nodes(module) if isinstance(node, ast.ClassDef))


def is_record(node: ast.ClassDef) -> bool:
    return node.name == "Context" or any("dataclass" in ast.unparse(each) for each in node.decorator_list)


def fields_of_records(modules: dict[str, ast.Module]) -> set[str]:
    return {
        node.target.id
        for each in classes(modules)
        if is_record(each)
        for node in each.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }


def attributes_of_objects(modules: dict[str, ast.Module]) -> set[str]:
    """Return the attributes that classes without declared fields assign to `self`."""
    return {
        node.attr
        for each in classes(modules)
        if not is_record(each)
        for node in nodes(each)
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
    }


def find_owner(node: ast.expr) -> str:
    """Return the last name of an expression: `active_run` of `self.active_run`, `_get` of `self._get(name)`."""
    while isinstance(node, ast.Call | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.attr if isinstance(node, ast.Attribute) else ast.unparse(node)


def targets(node: ast.AST) -> Iterator[ast.Attribute]:
    """Yield the attributes that a statement assigns to."""
    found: Sequence[ast.expr] = ()
    if isinstance(node, ast.Assign):
        found = node.targets
    elif isinstance(node, ast.AugAssign) or (isinstance(node, ast.AnnAssign) and node.value is not None):
        found = [node.target]
    for target in found:
        yield from (
            each for each in ast.walk(target) if isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store)
        )


def is_made_here(name: str, function: Function | None) -> bool:
    """Return whether a function calls what makes the object behind one of its local names."""
    assignments = [each for each in nodes(function) if isinstance(each, ast.Assign)] if function is not None else []
    for node in assignments:
        for target in node.targets:
            pairs = [(target, node.value)]
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                pairs = [*zip(target.elts, node.value.elts, strict=False)]
            if any(isinstance(value, ast.Call) and name in ast.unparse(each).split() for each, value in pairs):
                return True
    return False


def find_completions(module: ast.Module, records: set[str], constructed: set[str]) -> Iterator[str]:
    """Yield what a module assigns to attributes of objects that it did not make, and that are no records."""

    stack: list[tuple[ast.AST, Function | None]] = [(module, None)]
    while stack:
        node, function = stack.pop()
        for target in targets(node):
            owner = find_owner(target.value)
            is_field = target.attr in records and (owner in RECORDS or target.attr not in constructed)
            is_own = isinstance(target.value, ast.Name) and (owner in {"self", "cls"} or is_made_here(owner, function))
            if not is_field and not is_own and not target.attr.startswith("__"):
                yield ast.unparse(target)
        inner = node if isinstance(node, Function) else function
        stack += [(child, inner) for child in ast.iter_child_nodes(node)]


@cache
def find_all() -> dict[str, list[str]]:
    modules = read_sources()
    records, constructed = fields_of_records(modules), attributes_of_objects(modules)
    found = {path: list(find_completions(module, records, constructed)) for path, module in modules.items()}
    return {path: each for path, each in found.items() if each}


def test_no_attribute_of_an_object_is_set_by_another_after_its_construction() -> None:
    assert {path: each for path, each in find_all().items() if path not in EXCEPTIONS} == {}


def test_each_exception_is_needed() -> None:
    assert EXCEPTIONS.keys() - find_all().keys() == set()


@pytest.mark.parametrize(
    "line",
    [
        "services.approvals = gate",
        "self.host.gate = gate",
        "first, services.approvals = pair",
        "services.approvals += gate",
    ],
)
def test_an_assignment_from_outside_is_found(line: str) -> None:
    module = ast.parse(f"def connect(self, services, gate, pair):\n    {line}")

    assert list(find_completions(module, {"approvals"}, {"approvals"})) != []


@pytest.mark.parametrize(
    "line", ["self.gate = gate", "made = Services()\n    made.gate = gate", "ctx.gate = gate", "made: int"]
)
def test_own_attributes_fresh_objects_and_records_are_assigned_to(line: str) -> None:
    module = ast.parse(f"def connect(self, ctx, gate):\n    {line}")

    assert list(find_completions(module, {"gate"}, {"gate"})) == []


if __name__ == "__main__":
    for path, each in find_all().items():
        sys.stdout.write(f"{path}: {', '.join(each)}\n")
