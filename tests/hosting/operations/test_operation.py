"""A call of an operation: what is checked before it runs, whoever calls and by whatever way."""

from pathlib import Path
from typing import Annotated, Any

import pytest

from sophon.errors import NotFound
from sophon.settings import Settings
from sophon.settings.sections.permissions import LevelNeeded
from sophon_hosting.cli.global_options import GlobalOptions
from sophon_hosting.cli.remote.store_send import StoreSend
from sophon_hosting.client_api.authentication.token_authentication import User
from sophon_hosting.client_api.caller import Caller
from sophon_hosting.client_api.client_errors import Forbidden
from sophon_hosting.client_api.rights import ClientRights, ScopeNeeded
from sophon_hosting.client_api.stored_caller import RunningHostRequired, StoredCaller
from sophon_hosting.client_api.user_sessions import UserSessions
from sophon_hosting.features.goals.operations import create_goal
from sophon_hosting.features.goals.stored_goals import stored_goals
from sophon_hosting.operations.operation import Subject
from sophon_hosting.operations.request import Everything, Needs, NoFields, Request, request_shape
from sophon_hosting.operations.shared_results import Done
from sophon_hosting.operations.table import Table
from sophon_hosting.store.sql_host_store import SqlHostStore


class Things(Request):
    """Things, some of which only some may have."""

    everything: Everything = False
    older_than: Annotated[int | None, Needs("Export")] = None
    model: Annotated[str, Needs("ChooseModel")] | None = None
    shared: Annotated[bool | None, Needs("Export", unless=(None,))] = None


table = Table("things")


@table.operation("GET /api/things", needs="Read")
async def list_things(caller: Caller, request: Things) -> Done:
    """List things."""
    return {}


def a_caller(scopes: set[str] | None = None, *, operator: bool = False, **settings: Any) -> Caller:
    """The user of an open store with other rights than it has."""
    caller = StoredCaller(SqlHostStore("memory://"), Settings.from_mapping(settings))
    permissions = caller.settings.permissions
    caller.rights = ClientRights.resolve(permissions, "ada", channel="hub", is_operator=operator, scopes=scopes)
    if not operator:
        caller.user = User("ada")
    caller.sessions = UserSessions(caller.store.sessions, caller.user, knows_all=operator)
    return caller


@pytest.mark.parametrize(
    ("values", "scopes", "refusal"),
    [
        ({}, {"Read"}, None),
        ({}, {"Memory"}, ScopeNeeded),
        ({"everything": False, "older_than": None, "model": None}, {"Read"}, None),
        ({"everything": True}, {"Read"}, ScopeNeeded),
        ({"everything": True}, None, Forbidden),
        ({"older_than": 5}, {"Read"}, ScopeNeeded),
        ({"older_than": 0}, {"Read"}, ScopeNeeded),
        ({"older_than": 0}, {"Export"}, None),
        ({"model": "large"}, {"Read"}, ScopeNeeded),
        ({"model": ""}, {"Read"}, None),
        ({"model": "large"}, {"Read", "ChooseModel"}, None),
        ({"shared": False}, {"Read"}, ScopeNeeded),
        ({"shared": None}, {"Read"}, None),
        ({"shared": False}, {"Export"}, None),
    ],
)
async def test_a_field_needs_its_own_permission_where_it_is_given(
    values: dict[str, Any], scopes: set[str] | None, refusal: type[Exception] | None
) -> None:
    request = Things.validate(values)
    if refusal is None:
        assert await list_things.call(a_caller(scopes), request) == {}
    else:
        with pytest.raises(refusal):
            await list_things.call(a_caller(scopes), request)


class Totals(Request):
    """Totals of one thing, or of all of them, which are for operators."""

    thing: Annotated[str | None, Needs("Operator", if_left_out=True)] = None


@table.operation("GET /api/totals", needs="Read")
async def get_totals(caller: Caller, request: Totals) -> Done:
    """Return totals."""
    return {}


@pytest.mark.parametrize("values", [{}, {"thing": None}])
async def test_a_field_that_is_left_out_may_need_a_permission(values: dict[str, Any]) -> None:
    with pytest.raises(Forbidden):
        await get_totals.call(a_caller(), Totals.validate(values))
    assert await get_totals.call(a_caller(operator=True), Totals.validate(values)) == {}
    assert await get_totals.call(a_caller(), Totals.validate({"thing": "kettle"})) == {}


async def test_an_operator_may_give_every_field() -> None:
    given = Things.validate({"everything": True, "older_than": 5, "model": "large"})
    assert await list_things.call(a_caller(operator=True), given) == {}


def test_a_field_with_two_permissions_or_an_unknown_one_is_an_error() -> None:
    class TwoPermissions(Request):
        """A field that would lose one of its permissions."""

        everything: Annotated[Everything, Needs("FullHistory")] = False

    with pytest.raises(TypeError, match="everything"):
        request_shape(TwoPermissions)
    with pytest.raises(ValueError, match="'Opertor'"):
        Needs("Opertor")


class NamedThing(Request):
    """A thing by its name."""

    name: str


OWNERS = {"kettle": "ada", "teapot": "bob"}


async def find_owner(caller: Caller, name: str) -> str | None:
    return OWNERS.get(name)


THING = Subject("thing", "name", find_owner, lambda owner: owner)


class Shown(Done):
    """The owner of a thing."""

    owner: str


@table.operation("GET /api/things/{name}", needs="Read", on=THING)
async def show_thing(caller: Caller, request: NamedThing, owner: str) -> Shown:
    """Show a thing."""
    return {"owner": owner}


async def test_what_belongs_to_another_user_does_not_exist() -> None:
    ada = a_caller()
    assert await show_thing.call(ada, NamedThing.validate({"name": "kettle"})) == {"owner": "ada"}
    refusals: list[str] = []
    for name in ("teapot", "spoon"):
        with pytest.raises(NotFound) as raised:
            await show_thing.call(ada, NamedThing.validate({"name": name}))
        refusals.append(str(raised.value).replace(name, "x"))
    assert refusals[0] == refusals[1]
    olga = a_caller(operator=True)
    assert await show_thing.call(olga, NamedThing.validate({"name": "teapot"})) == {"owner": "bob"}


async def test_the_permission_is_checked_before_the_row_is_looked_for() -> None:
    for name in OWNERS:
        with pytest.raises(ScopeNeeded):
            await show_thing.call(a_caller({"Memory"}), NamedThing.validate({"name": name}))


async def test_the_permissions_hold_where_no_host_runs() -> None:
    store = SqlHostStore("memory://")
    await store.open()
    goals: dict[str, Any] = {"Goals": {"Enabled": True}}
    nothing: dict[str, Any] = {**goals, "Permissions": {"Levels": {"Admin": {"Features": []}}}}
    request = create_goal.request.validate({"title": "Birds"})
    with pytest.raises(LevelNeeded):
        await create_goal.call(StoredCaller(store, Settings.from_mapping(nothing)), request)
    assert await stored_goals(store).list(owner=None, limit=10) == []
    await create_goal.call(StoredCaller(store, Settings.from_mapping(goals)), request)
    assert len(await stored_goals(store).list(owner=None, limit=10)) == 1
    await store.close()


def test_what_needs_a_running_host_says_so(tmp_path: Path) -> None:
    @Table("things").operation("POST /api/things/wake", needs="Operator")
    async def wake_things(caller: Caller, request: NoFields) -> Shown:
        """Wake the things of a host."""
        return {"owner": caller.host.services.settings.chain.name}

    (tmp_path / "appsettings.json").write_text("{}")
    options = GlobalOptions(tmp_path / "appsettings.json", overrides=("Store.Url=memory://",))
    with pytest.raises(RunningHostRequired, match="this needs a running host") as raised:
        StoreSend(options, Settings.from_mapping({}))(wake_things, NoFields.validate({}))
    assert raised.value.code == "no_host"
