"""`/api/workspace`: the workspace files that stand in the prompts of a user, to read and edit."""

from typing import cast

from aiohttp import web

from sophon_hosting.features.memory.results import WorkspaceFile, WorkspaceFileList
from sophon_hosting.http.json_io import RequestBody, get_authorized_host, json_response, parse_body


class WorkspaceFileBody(RequestBody):
    """Body of an edit: the whole text, and the version that it was made from."""

    text: str
    version: str


routes = web.RouteTableDef()


@routes.get("/api/workspace")
async def list_files(request: web.Request) -> web.Response:
    """List the files that the user may edit: their own, and for operators those of everybody."""
    listed = cast(WorkspaceFileList, {"items": get_authorized_host(request).workspace.list()})
    return json_response(listed)


@routes.get("/api/workspace/{name}")
async def read_file(request: web.Request) -> web.Response:
    """Return a file: text and version. Raises NotFound."""
    found = cast(WorkspaceFile, await get_authorized_host(request).workspace.read(request.match_info["name"]))
    return json_response(found)


@routes.put("/api/workspace/{name}")
async def save_file(request: web.Request) -> web.Response:
    """Replace the text of a file. Raises NotFound, ChangedMeanwhile, InputError."""
    workspace = get_authorized_host(request).workspace
    body = await parse_body(request, WorkspaceFileBody)
    saved = cast(WorkspaceFile, await workspace.save(request.match_info["name"], body.text, body.version))
    return json_response({"ok": True, **saved})
