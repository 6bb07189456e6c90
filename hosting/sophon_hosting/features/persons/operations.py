"""Operations on persons: export and forget all that is kept. Users of themselves, operators of everybody."""

from typing import Annotated

from sophon.errors import Busy
from sophon_hosting.client_api.caller import Caller
from sophon_hosting.client_api.operation_reply import JsonLines
from sophon_hosting.features.persons.export import PersonExport
from sophon_hosting.features.persons.forgetting import PersonForgetting, check_person
from sophon_hosting.features.persons.person_files import PersonFolders
from sophon_hosting.features.persons.results import ForgottenPerson
from sophon_hosting.operations.operation import Subject
from sophon_hosting.operations.request import Doc, Request
from sophon_hosting.operations.table import Table

table = Table("persons")


async def _find(caller: Caller, person: str) -> str:
    return person


PERSON = Subject("person", "person", _find, lambda person: person)
"""A name. That nothing is kept of a person is no error."""


class NamedPerson(Request):
    """A person by name."""

    person: Annotated[str, Doc("A user, local, a person on a channel as telegram:5, or a group.")]


@table.operation("GET /api/persons/{person}", needs=("Memory", "Chat", "FullHistory"), on=PERSON)
async def export_person(caller: Caller, request: NamedPerson, person: str) -> JsonLines:
    """Return everything that is kept of the user as JSON lines, one thing each; of anybody for operators."""
    check_person(person)
    return JsonLines(PersonExport(caller.store, caller.clock, _folders(caller)).read(person))


@table.operation("DELETE /api/persons/{person}", needs=("Memory", "Chat"), on=PERSON, errors=(Busy,), is_exclusive=True)
async def forget_person(caller: Caller, request: NamedPerson, person: str) -> ForgottenPerson:
    """Delete everything that is kept of the user, or of anybody for operators; running tasks are cancelled.

    `deleted` counts by kind, `other_sessions` are those of others, such as groups, with messages of the person.
    """
    check_person(person)
    if (off := caller.off_the_record) is not None:
        for session in await off.store.sessions.list(person):
            await off.delete_session(session.id)
    forgetting = PersonForgetting(caller.store, caller.memory, caller.clock, _folders(caller), caller.delete_session)
    forgotten = await forgetting.forget(person)
    others = [caller.sessions.to_client_id(each) for each in forgotten.other_sessions]
    return {"deleted": forgotten.counts, "other_sessions": others}


def _folders(caller: Caller) -> PersonFolders:
    return PersonFolders.of_settings(caller.settings, caller.folder)
