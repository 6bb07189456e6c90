"""`/api/tools` and `/api/skills`: what a user's turns can use; custom tools are switched, shared and deleted here."""

from hashlib import sha256

from aiohttp import web

from sophon.tools.registry import find_group
from sophon_hosting.client_api.authorized_host import AuthorizedHost
from sophon_hosting.events.json_encoding import encode_json
from sophon_hosting.features.tools.results import (
    ChangedCustomTool,
    DeletedCustomTool,
    ListedTool,
    SkillList,
    ToolGroupList,
    ToolList,
    ToolsVersion,
    custom_tool_to_json,
    skill_to_json,
    tool_error_to_json,
    tool_to_json,
)
from sophon_hosting.http.json_io import (
    RequestQuery,
    get_authorized_host,
    get_host,
    get_reader,
    json_response,
    parse_body,
    parse_query,
)
from sophon_hosting.http.long_poll import WaitSeconds, wait_for_change, watch_toolbox

VERSION_DIGITS = 32


class VersionQuery(RequestQuery):
    """Query of the version of the tools: `after` is what the client knows, `wait` how long to wait for another."""

    after: str = ""
    wait: WaitSeconds = 0


routes = web.RouteTableDef()


@routes.get("/api/tools")
async def list_tools(request: web.Request) -> web.Response:
    """Return the tools that the user may use, with their risk and the JSON Schema of their arguments.

    `last_error` is how a call last failed in a session of the user, `hidden` the number of the other tools. `custom`
    are the user's custom tools, also those that are off.
    """
    authorized_host = get_authorized_host(request)
    tools = authorized_host.tools.list()
    hidden = len(get_host(request).services.registry) - len(tools)
    is_operator = authorized_host.user.operator
    found = await authorized_host.tools.list_custom()
    custom = [custom_tool_to_json(each, has_folder=is_operator) for each in found]
    items: list[ListedTool] = []
    for tool in tools:
        error = await authorized_host.tools.find_error(tool.name)
        items.append({**tool_to_json(tool), "last_error": None if error is None else tool_error_to_json(error)})
    listed: ToolList = {"items": items, "version": _digest(authorized_host), "hidden": hidden, "custom": custom}
    return json_response(listed)


@routes.get("/api/tools/version")
async def get_version(request: web.Request) -> web.Response:
    """Return the version of the tools that the user may use, once it differs from `after` or `wait` is over."""
    query, authorized_host = parse_query(request, VersionQuery), get_authorized_host(request)
    deadline = authorized_host.monotonic() + query.wait
    with watch_toolbox(get_host(request).services.toolbox) as changed:
        while (version := _digest(authorized_host)) == query.after:
            changed.clear()
            if not await wait_for_change(request, changed, deadline):
                break
    shown: ToolsVersion = {"version": version}
    return json_response(shown)


@routes.get("/api/tools/groups")
async def list_groups(request: web.Request) -> web.Response:
    """Return the groups that `load_tools` offers the user, with the names of their tools."""
    groups: dict[str, list[str]] = {}
    for tool in get_authorized_host(request).tools.list():
        if group := find_group(tool):
            groups.setdefault(group, []).append(tool.name)
    listed: ToolGroupList = {"items": [{"group": name, "tools": tools} for name, tools in sorted(groups.items())]}
    return json_response(listed)


@routes.patch("/api/tools/{name}")
async def change_custom_tool(request: web.Request) -> web.Response:
    """Switch a custom tool on or off, or share it."""
    from sophon_hosting.http.api.tool_bodies import CustomToolChange  # lazy: it needs pydantic

    body = await parse_body(request, CustomToolChange)
    tool = await get_authorized_host(request).tools.change_custom(
        request.match_info["name"], enabled=body.enabled, shared=body.shared
    )
    changed: ChangedCustomTool = {"name": tool.full_name, "enabled": tool.is_enabled, "shared": tool.is_shared}
    return json_response(changed)


@routes.delete("/api/tools/{name}")
async def delete_custom_tool(request: web.Request) -> web.Response:
    """Delete a custom tool."""
    tool = await get_authorized_host(request).tools.delete_custom(request.match_info["name"])
    deleted: DeletedCustomTool = {"name": tool.full_name}
    return json_response({**deleted, "ok": True})


@routes.get("/api/skills")
async def list_skills(request: web.Request) -> web.Response:
    """Return the skills with their state and the length of their instructions; problems for operators only."""
    authorized_host, services = get_reader(request), get_host(request).services
    if services.skills is None:
        nothing: SkillList = {"items": [], "problems": []}
        return json_response(nothing)
    found = await services.clock.run_in_thread(services.skills.read)
    count_tokens = services.gateway.tokens.count_text
    items = [
        skill_to_json(each, enabled=name not in found.disabled, tokens=count_tokens(each.instructions))
        for name, each in found.skills.items()
    ]
    problems = [str(each) for each in found.problems] if authorized_host.user.operator else []
    skills: SkillList = {"items": items, "problems": problems}
    return json_response(skills)


def _digest(authorized_host: AuthorizedHost) -> str:
    """Return the version of the tools that a user may use: a digest of everything that a client is told of them."""
    shown = [tool_to_json(each) for each in authorized_host.tools.list()]
    return sha256(encode_json(shown).encode()).hexdigest()[:VERSION_DIGITS]
