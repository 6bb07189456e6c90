"""`/api/persons`: export and forget all that is kept of a person; users of themselves, operators of everybody."""

from aiohttp import web

from sophon.errors import NotFound
from sophon.security.permission_levels import FULL_HISTORY
from sophon_hosting.events.json_encoding import encode_json
from sophon_hosting.features.persons.results import ForgottenPerson
from sophon_hosting.host import Host
from sophon_hosting.http.json_io import get_authorized_host, get_host, json_response
from sophon_hosting.persons.export import PersonExport
from sophon_hosting.persons.forgetting import PersonForgetting, check_person
from sophon_hosting.persons.person_files import PersonFolders

routes = web.RouteTableDef()


@routes.get("/api/persons/{person}")
async def export_person(request: web.Request) -> web.StreamResponse:
    """Return everything as JSON lines, one thing each. Raises NotFound for another user."""
    person = _authorize(request)
    get_authorized_host(request).rights.require(FULL_HISTORY)
    services = get_host(request).services
    export = PersonExport(services.store, services.clock, _folders(get_host(request)))
    response = web.StreamResponse(headers={"Content-Type": "application/x-ndjson; charset=utf-8"})
    lines = export.read(person)
    # Before the headers, so that an error of the store is an error to the client.
    first = await anext(lines)
    await response.prepare(request)
    await response.write(f"{encode_json(first)}\n".encode())
    async for each in lines:
        await response.write(f"{encode_json(each)}\n".encode())
    await response.write_eof()
    return response


@routes.delete("/api/persons/{person}")
async def forget_person(request: web.Request) -> web.Response:
    """Delete everything; running tasks of the person are cancelled. Raises NotFound for another user, Busy."""
    person, host = _authorize(request), get_host(request)
    if host.off_the_record is not None:
        for session in await host.off_the_record.services.store.sessions.list(person):
            await host.off_the_record.delete_session(session.id)
    services = host.services
    forgetting = PersonForgetting(services.store, services.memory, services.clock, _folders(host), host.delete_session)
    forgotten = await forgetting.forget(person)
    to_client_id = get_authorized_host(request).sessions.to_client_id
    others = [to_client_id(each) for each in forgotten.other_sessions]
    result: ForgottenPerson = {"deleted": forgotten.counts, "other_sessions": others}
    return json_response(result)


def _authorize(request: web.Request) -> str:
    authorized_host, person = get_authorized_host(request), request.match_info["person"]
    authorized_host.rights.require("Memory")
    authorized_host.rights.require("Chat")
    if person != authorized_host.user.id and not authorized_host.user.operator:
        raise NotFound("person", person)
    check_person(person)
    return person


def _folders(host: Host) -> PersonFolders:
    return PersonFolders.of_settings(host.services.settings, host.services.folder)
