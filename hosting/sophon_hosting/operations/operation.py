"""Operation: one thing that a client may ask of a host, with its permission, its request and its result."""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import Any, Generic, TypeVar, get_type_hints

from sophon._python.lazy_dataclass import dataclass, new_dict
from sophon.errors import NotFound, SophonError
from sophon.settings import Settings
from sophon_hosting.client_api.caller import Caller
from sophon_hosting.operations.permission_check import check_permission
from sophon_hosting.operations.request import Request, request_shape

Q = TypeVar("Q", bound=Request)
R = TypeVar("R")
T = TypeVar("T")

_PATH_FIELD = re.compile(r"{(\w+)}")


@dataclass(frozen=True, slots=True)
class Subject(Generic[T]):
    """Row that an operation is about: how it is found by a field of the request, and whose it is.

    What belongs to another user is refused like what does not exist; operators may name everything. `is_off_the_record`
    says whether the host of conversations off the record has it: the operation then runs there.
    """

    kind: str
    """Name of the row in errors."""
    field: str
    find: Callable[[Caller, str], Awaitable[T | None]]
    owner: Callable[[T], str | None]
    is_off_the_record: Callable[[Caller, str], Awaitable[bool]] | None = None
    is_owners_alone: bool = False
    """Whether operators, too, may name their own only."""

    async def locate(self, caller: Caller, row_id: str) -> tuple[Caller, T]:
        """Return the row, and the caller on the host that has it. Raises NotFound."""
        caller = await self.on_its_host(caller, row_id)
        row = await self.find(caller, row_id)
        if row is None or (self.is_owners_alone and self.owner(row) != caller.user.id):
            raise NotFound(self.kind, row_id)
        if not caller.user.operator and self.owner(row) != caller.user.id:
            caller.sessions.refuse(self.kind, row_id)
        return caller, row

    async def on_its_host(self, caller: Caller, row_id: str) -> Caller:
        """Return the caller on the host that has the row: that of conversations off the record, or their own."""
        off = caller.off_the_record
        if off is not None and self.is_off_the_record is not None and await self.is_off_the_record(off, row_id):
            return off
        return caller


@dataclass(frozen=True, slots=True)
class OperationOptions:
    """How an operation is offered, and what its documentation says beyond its types; see `Table.operation`."""

    status: int = 200
    statuses: Sequence[int] = ()
    ok: bool = False
    event: str = ""
    errors: Sequence[type[SophonError]] = ()
    example: Mapping[str, Any] = field(default_factory=new_dict)
    is_large: bool = False
    is_cacheable: bool = False
    is_exclusive: bool = False
    as_tool: bool = False
    seconds: float = 60.0
    needs_for: Callable[[Any], str] | None = None
    upload_bytes: Callable[[Settings], int] | None = None


class Operation(Generic[Q, R]):
    """One operation; `call` checks the permissions, finds its row and runs it.

    It knows neither HTTP nor Socket.IO nor terminals: bindings read the request and write the result. `needs` are the
    permissions that all callers need (`parse_permission`), fields of the request may need others (`Needs`).
    """

    def __init__(
        self,
        run: Callable[..., Awaitable[R]],
        route: str,
        needs: Sequence[str],
        subject: "Subject[Any] | None",
        options: OperationOptions,
    ) -> None:
        self.run, self.needs, self.subject, self.options = run, needs, subject, options
        self.name: str = run.__name__
        self.description: str = run.__doc__ or ""
        self.method, _, self.path = route.partition(" ")
        """Method and path of HTTP; empty for an operation of Socket.IO alone."""
        self.path_fields = tuple(_PATH_FIELD.findall(self.path))

    def __repr__(self) -> str:
        return f"<operation {self.name}>"

    @property
    def summary(self) -> str:
        """First sentence of the documentation."""
        return self.description.partition("\n")[0]

    @cached_property
    def _hints(self) -> Mapping[str, Any]:
        return get_type_hints(self.run, include_extras=True)

    @cached_property
    def request(self) -> type[Q]:
        """Type of the request."""
        names = list(self._hints)
        found: type[Q] = self._hints[names[1]]
        return found

    @cached_property
    def has_query(self) -> bool:
        """Whether HTTP carries the fields that are not in the path in the query, as text; else they are the body."""
        return self.method in ("GET", "DELETE") or bool(request_shape(self.request).upload_field)

    @property
    def result(self) -> Any:
        """Type of the result."""
        return self._hints["return"]

    def to_answer(self, result: Any) -> Any:
        """Return a result as HTTP answers it: with `ok` if the operation is declared so."""
        return {"ok": True, **result} if self.options.ok else result

    def check(self, caller: Caller) -> None:
        """Check what every caller needs, before anything of the request is read.

        Raises LevelNeeded, ScopeNeeded, Forbidden.
        """
        for each in self.needs:
            check_permission(caller, each)

    async def call(self, caller: Caller, request: Q) -> R:
        """Check the permissions and run.

        Raises LevelNeeded, ScopeNeeded, Forbidden, NotFound, and the errors of the operation.
        """
        self.check(caller)
        for name, needed in request_shape(type(request)).needs.items():
            if needed.applies_to(getattr(request, name), is_given=name in request.fields_set):
                check_permission(caller, needed.permission)
        if self.subject is None:
            return await self.run(caller, request)
        caller, row = await self.subject.locate(caller, getattr(request, self.subject.field))
        if (needs_for := self.options.needs_for) is not None:
            check_permission(caller, needs_for(row))
        return await self.run(caller, request, row)
