"""Tables of operations: a feature declares its own, a registry has those of all features."""

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, TypedDict, TypeVar, Unpack, overload

from sophon.errors import CompositionError, SophonError
from sophon.settings import Settings
from sophon_hosting.client_api.caller import Caller
from sophon_hosting.operations.operation import Operation, OperationOptions, Subject
from sophon_hosting.operations.permission_check import parse_permission
from sophon_hosting.operations.request import Request

Q = TypeVar("Q", bound=Request)
R = TypeVar("R")
T = TypeVar("T")


class Options(TypedDict, total=False):
    """Options of `Table.operation`, whose docstring says what they mean; `OperationOptions` has their defaults."""

    status: int
    statuses: Sequence[int]
    ok: bool
    event: str
    errors: Sequence[type[SophonError]]
    example: Mapping[str, Any]
    is_large: bool
    is_cacheable: bool
    is_exclusive: bool
    as_tool: bool
    seconds: float
    upload_bytes: Callable[[Settings], int]


class Table:
    """Operations of one feature, in the order in which they are documented."""

    def __init__(self, feature: str) -> None:
        self.feature = feature
        self.operations: list[Operation[Any, Any]] = []

    @overload
    def operation(
        self, route: str = "", *, needs: str | Sequence[str], on: None = None, **options: Unpack[Options]
    ) -> Callable[[Callable[[Caller, Q], Awaitable[R]]], Operation[Q, R]]: ...

    @overload
    def operation(
        self,
        route: str = "",
        *,
        needs: str | Sequence[str],
        on: Subject[T],
        needs_for: Callable[[T], str] | None = None,
        **options: Unpack[Options],
    ) -> Callable[[Callable[[Caller, Q, T], Awaitable[R]]], Operation[Q, R]]: ...

    def operation(
        self,
        route: str = "",
        *,
        needs: str | Sequence[str],
        on: Subject[Any] | None = None,
        **options: Any,
    ) -> Callable[[Callable[..., Awaitable[Any]]], Operation[Any, Any]]:
        """Declare the decorated function as an operation; its annotations are the types of request and result.

        `route`: method and path over HTTP, as `GET /api/goals/{goal_id}`, whose fields are fields of the request; the
        others are in the query of GET and DELETE, else in the body. `event`: name over Socket.IO. `needs`: permissions
        that every caller needs, none of which means: whoever is signed in. `on`: the row that the operation is about,
        which it gets as third argument; `needs_for`: what a caller needs for that row, besides. `status` of success
        over HTTP, and `statuses` that the operation may choose instead. `ok`: the answer over HTTP has `ok`, as those
        of Socket.IO always have. `errors` that are documented, beside those of permissions, requests and rows.
        `example`: a request. `is_large`: the answer may be large, so the hub serves such requests at the speed at which
        the client reads. `is_cacheable`: answered with an ETag.
        `is_exclusive`: where no host runs, the operation holds the lease of the store, so that none starts meanwhile.
        `as_tool`: the MCP server offers it to a model. No person is asked before it runs, so nothing is a tool that
        decides, or that goes on acting when nobody looks.
        `seconds`: how long a client waits for the answer. `upload_bytes`: the largest file, if the body is one.
        """
        permissions = tuple(map(parse_permission, (needs,) if isinstance(needs, str) else needs))

        def declare(run: Callable[..., Awaitable[Any]]) -> Operation[Any, Any]:
            made: Operation[Any, Any] = Operation(run, route, permissions, on, OperationOptions(**options))
            self.operations.append(made)
            return made

        return declare


class Registry:
    """The operations of all features. Raises CompositionError for a name, a route or an event that is there twice."""

    def __init__(self, tables: Iterable[Table]) -> None:
        self.tables = tuple(tables)
        self.operations = tuple(each for table in self.tables for each in table.operations)
        _index(self.operations, "name", lambda each: each.name)
        _index([each for each in self.operations if each.path], "route", _route_key)
        self.by_event: Mapping[str, Operation[Any, Any]] = _index(
            [each for each in self.operations if each.options.event], "event", lambda each: each.options.event
        )


def _route_key(operation: Operation[Any, Any]) -> str:
    """Return the route without the names of its fields: two that differ in these alone are one."""
    return f"{operation.method} {re.sub('{[^}]*}', '{}', operation.path)}"


def _index(
    operations: Iterable[Operation[Any, Any]], what: str, key: Callable[[Operation[Any, Any]], str]
) -> dict[str, Operation[Any, Any]]:
    found: dict[str, Operation[Any, Any]] = {}
    for each in operations:
        if (name := key(each)) in found:
            raise CompositionError(f"two operations have the {what} {name!r}: {found[name].name} and {each.name}")
        found[name] = each
    return found
