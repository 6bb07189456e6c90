"""Survey of what each kind of caller may do, found by calling every operation as each of them.

The function of an operation is replaced by one that says that it was reached. What comes before it is the real thing:
the check of level, scope and operator, the permissions of fields, and whose row it is.
"""

from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import asynccontextmanager
from copy import copy
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, Literal, NoReturn

from sophon.errors import SophonError
from sophon_hosting.client_api.caller import Caller
from sophon_hosting.client_api.rights import OPERATOR_SCOPE, SCOPES, expand_scopes
from sophon_hosting.operations.operation import Operation
from sophon_hosting.operations.request import Request, request_shape
from sophon_hosting.operations.table import Registry
from tests.hosting.http.api_shapes.served import Served, serve
from tests.hosting.permissions.callers import PERMISSIONS, TOKENS, Callers
from tests.hosting.permissions.rows import ROWS, USERS

Reach = Literal["yes", "own", "all", "–"]
"""What callers may do: everything of an operation, on rows of their own, on those of everybody, nothing."""

REFUSALS = frozenset({"level_needed", "scope_needed", "forbidden", "not_found"})

ALL_BUT_OPERATOR = frozenset(SCOPES) - {OPERATOR_SCOPE}


class Reached(Exception):
    """The function of an operation was called."""


@dataclass(frozen=True)
class Permissions:
    """What a user, an operator and a user of the level ZeroTrust may do, and the least scopes that a token needs."""

    user: Reach
    operator: Reach
    zero_trust: Reach
    token: str


class Survey:
    """Calls of operations as each kind of caller, on a host where some users have rows."""

    def __init__(self, served: Served, rows: Mapping[tuple[str, str], str]) -> None:
        self.served, self.callers, self.rows = served, Callers(served), rows

    async def find_permissions(self, operation: Operation[Any, Any], field: str = "") -> Permissions:
        """Return who may do it; with `field`, who may give that field of the request."""
        user = await self._find_reach(operation, "ada", field)
        return Permissions(
            user,
            await self._find_reach(operation, "olga", field),
            await self._find_reach(operation, "zoe", field),
            await self._find_scopes(operation, "olga" if user == "–" else "ada", field),
        )

    async def try_call(self, operation: Operation[Any, Any], caller: Caller, owner: str, field: str = "") -> str:
        """Return `yes` if a caller reaches an operation on a row of an owner, else the code of the refusal."""
        fields: dict[str, Any] = {field: True} if field else {}
        if operation.subject is not None:
            fields[operation.subject.field] = self.rows[operation.subject.kind, owner]
        refusal = await self.find_refusal(operation, caller, fields)
        return "yes" if refusal is None else refusal.code

    async def find_refusal(
        self, operation: Operation[Any, Any], caller: Caller, fields: Mapping[str, Any]
    ) -> SophonError | None:
        """Return what a caller is refused with; None if the operation is reached."""
        request_type: type[Request] = operation.request
        request = object.__new__(request_type)  # not validated: nobody reads the other fields
        vars(request).update(fields, fields_set=frozenset(fields))
        probed = copy(operation)
        probed.run = _reach
        try:
            await probed.call(caller, request)
        except Reached:
            return None
        except SophonError as error:
            if error.code in REFUSALS:
                return error
            raise
        raise AssertionError(f"{operation} neither ran nor was refused")

    async def _find_reach(self, operation: Operation[Any, Any], user: str, field: str) -> Reach:
        caller = await self.callers.open(user)
        own = await self.try_call(operation, caller, user, field)
        if own != "yes":
            return "–"
        if operation.subject is None:
            return "yes"
        other = "zoe" if user == "ada" else "ada"
        return "all" if await self.try_call(operation, caller, other, field) == "yes" else "own"

    async def _find_scopes(self, operation: Operation[Any, Any], user: str, field: str) -> str:
        """Return the fewest scopes that are enough; of those that contain each other, the smallest."""
        for count in range(4):
            enough = [
                scopes
                for scopes in combinations(SCOPES, count)
                if await self.try_call(operation, await self.callers.open(user, scopes), user, field) == "yes"
            ]
            if enough:
                expanded = {scopes: expand_scopes(scopes) for scopes in enough}
                least = [each for each in enough if not any(expanded[other] < expanded[each] for other in enough)]
                return " or ".join(" and ".join(each) for each in least) or "any"
        return "–"


def list_probes(registry: Registry) -> Iterable[tuple[str, Operation[Any, Any], str]]:
    """Yield feature, operation and the field that is given: none first, then each that needs a permission."""
    for table in registry.tables:
        for operation in table.operations:
            for field in ("", *request_shape(operation.request).needs):
                yield table.feature, operation, field


@asynccontextmanager
async def survey_of(folder: Path, registry: Registry) -> AsyncGenerator[Survey]:
    """Start a host in an empty folder, and make a row of each kind for each user who has some."""
    unknown = {each.subject.kind for each in registry.operations if each.subject is not None} - set(ROWS)
    assert not unknown, f"tests/hosting/permissions/rows.py makes no rows of {sorted(unknown)}"
    async with serve(folder, tokens=TOKENS, more=PERMISSIONS) as served:
        yield Survey(served, {(kind, user): await make(served, user) for kind, make in ROWS.items() for user in USERS})


async def _reach(*_: object) -> NoReturn:
    raise Reached
