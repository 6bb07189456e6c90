"""Law: an object works once it is constructed; what it needs later is an argument of its constructor or of a method.

Read from the sources: nobody assigns to an attribute of an object that somebody else has made. Records are assigned to,
since they are made to change: fields of data classes, the context of a turn, rows and states.
"""

import ast
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from tests.tables import table

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
    "litellm.disable_aiohttp_transport": "litellm",
    "litellm.disable_streaming_logging": "litellm",
    "litellm.modify_params": "litellm",
    "litellm.suppress_debug_info": "litellm",
    "litellm.telemetry": "litellm",
    "litellm.turn_off_message_logging": "litellm",
    "ctx.obj": "Typer",
    "engine_socket.upgrading": "python-engineio",
    "self._socket.check_ping_timeout": "python-engineio",
    "self._socket.last_ping": "python-engineio",
    "self.eio.service_task_handle": "python-engineio",
    "self.eio.start_service_task": "python-engineio",
    "start.deadline": "anyio",
    "function.argtypes": "ctypes",
    "function.restype": "ctypes",
    "mallopt.argtypes": "ctypes",
    "mallopt.restype": "ctypes",
    "text.justify": "rich",
    "token.attrs": "markdown-it",
    "connection.prepare_threshold": "psycopg",
    "record.args": "logging",
    "record.exc_info": "logging",
    "record.exc_text": "logging",
    "record.msg": "logging",
    "record.stack_info": "logging",
    "self._local.connection": "threading.local",
    "error.args": "arguments of an exception",
    "error.filename": "the file of an OSError",
    "error.status_code": "the status of an error",
    # Records with a constructor of their own: state that changes, which somebody else keeps.
    "connection.pending_attachments": "a connection's unfinished packet",
    "ctx.cancellation.is_end_recorded": "the cancellation of a turn",
    "elsewhere.is_taken": "a session in another process",
    "elsewhere.is_watched": "a session in another process",
    "extensions.dumps": "the extensions of a turn",
    "message.is_obsolete": "a message of the queue's log",
    "observer.observations": "observations of a turn",
    "self._counts.drain_rate.elsewhere": "the rate of the other processes",
    "self._listeners.wants_all": "what is listened to",
    "self._variables.expansions": "variables of a script",
    "self.variables.is_shifted": "variables of a script",
}
"""Assignments that stay, each with the library or the record to which the object belongs."""

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
    for node in nodes(function) if function is not None else ():
        if not isinstance(node, ast.Assign | ast.AnnAssign):
            continue
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            pairs: list[tuple[ast.expr, ast.expr | None]] = [(target, node.value)]
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
    """Return what is assigned to, each with the modules that do it."""
    modules = read_sources()
    records, constructed = fields_of_records(modules), attributes_of_objects(modules)
    found: dict[str, list[str]] = {}
    for path, module in modules.items():
        for target in find_completions(module, records, constructed):
            found.setdefault(target, []).append(path)
    return found


def test_no_attribute_of_an_object_is_set_by_another_after_its_construction() -> None:
    assert {target: paths for target, paths in find_all().items() if target not in EXCEPTIONS} == {}


def test_each_exception_is_needed() -> None:
    assert EXCEPTIONS.keys() - find_all().keys() == set()


@table(
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


@table("line", ["self.gate = gate", "made = Services()\n    made.gate = gate", "ctx.gate = gate", "made: int"])
def test_own_attributes_fresh_objects_and_records_are_assigned_to(line: str) -> None:
    module = ast.parse(f"def connect(self, ctx, gate):\n    {line}")

    assert list(find_completions(module, {"gate"}, {"gate"})) == []


if __name__ == "__main__":
    for target, paths in find_all().items():
        sys.stdout.write(f"{target}: {', '.join(paths)}\n")
