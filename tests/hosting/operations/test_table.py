"""Tables of operations: what is declared twice, or needs what does not exist, is an error at start."""

import pytest

from sophon.errors import CompositionError, InputError
from sophon_hosting.client_api.caller import Caller
from sophon_hosting.operations.request import NoFields, Request
from sophon_hosting.operations.shared_results import Done
from sophon_hosting.operations.table import Registry, Table


def a_table(route: str, name: str = "first", event: str = "") -> Table:
    table = Table("things")

    async def run(caller: Caller, request: NoFields) -> Done:
        """Do a thing."""
        return {}

    run.__name__ = name
    table.operation(route, needs="Read", event=event)(run)
    return table


@pytest.mark.parametrize(
    ("second", "what"),
    [
        (a_table("GET /api/others"), "the name 'first'"),
        (a_table("GET /api/things/{id}", "second"), "the route 'GET /api/things/{}'"),
        (a_table("GET /api/others", "second", "do_thing"), "the event 'do_thing'"),
    ],
)
def test_what_two_features_declare_is_an_error_that_names_both(second: Table, what: str) -> None:
    with pytest.raises(CompositionError, match="first") as raised:
        Registry([a_table("GET /api/things/{thing_id}", event="do_thing"), second])
    assert what in str(raised.value)


@pytest.mark.parametrize("permission", ["Chta", "", "token: Chta", "token: FullHistory"])
def test_a_permission_that_does_not_exist_is_an_error_where_it_is_declared(permission: str) -> None:
    with pytest.raises(ValueError, match=f"'{permission}'"):
        Table("things").operation("GET /api/things", needs=permission)


class Page(Request):
    """A page."""

    limit: int = 10
    all: bool = False


@pytest.mark.parametrize(
    ("values", "is_text", "sentence"),
    [
        ({"limit": "5"}, False, "limit: it must be a whole number"),
        ({"limit": "five"}, True, "limit: it must be a whole number"),
        ({"limit": 5, "page": 1, "size": 2}, False, "page: there is no such field; size: there is no such field"),
        ({"all": "perhaps"}, True, "all: it must be true or false"),
    ],
)
def test_a_wrong_request_is_refused_with_the_field_of_each_problem(
    values: dict[str, object], is_text: bool, sentence: str
) -> None:
    with pytest.raises(InputError) as raised:
        Page.validate(values, is_text=is_text)
    assert str(raised.value) == sentence


def test_a_query_is_converted_and_knows_what_was_given() -> None:
    page = Page.validate({"limit": "5"}, is_text=True)
    assert (page.limit, page.all) == (5, False)
    assert page.fields_set == {"limit"}
