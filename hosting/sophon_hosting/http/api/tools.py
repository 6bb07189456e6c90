"""`/api/tools` and `/api/skills`: what a user's turns can use; custom tools are switched, shared and deleted here."""

from hashlib import sha256
from typing import Any

from aiohttp import web

from sophon.skills.skill_package import SkillPackage
from sophon.tools.registry import find_group
from sophon.tools.tool import Tool
from sophon_hosting.client_api.authorized_host import AuthorizedHost
from sophon_hosting.client_api.serialization import custom_tool_to_json
from sophon_hosting.events.json_encoding import encode_json
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
from sophon_hosting.tool_errors import ToolError

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
    custom = [custom_tool_to_json(each) for each in await authorized_host.tools.list_custom()]
    if not authorized_host.user.operator:
        custom = [{name: value for name, value in each.items() if name != "folder"} for each in custom]
    items: list[dict[str, Any]] = []
    for tool in tools:
        error = await authorized_host.tools.find_error(tool.name)
        items.append({**_tool_to_json(tool), "last_error": None if error is None else _error_to_json(error)})
    version = _digest(authorized_host)
    return json_response({"items": items, "version": version, "hidden": hidden, "custom": custom})


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
    return json_response({"version": version})


@routes.get("/api/tools/groups")
async def list_groups(request: web.Request) -> web.Response:
    """Return the groups that `load_tools` offers the user, with the names of their tools."""
    groups: dict[str, list[str]] = {}
    for tool in get_authorized_host(request).tools.list():
        if group := find_group(tool):
            groups.setdefault(group, []).append(tool.name)
    return json_response({"items": [{"group": name, "tools": tools} for name, tools in sorted(groups.items())]})


@routes.patch("/api/tools/{name}")
async def change_custom_tool(request: web.Request) -> web.Response:
    """Switch a custom tool on or off, or share it."""
    from sophon_hosting.http.api.tool_bodies import CustomToolChange  # lazy: it needs pydantic

    body = await parse_body(request, CustomToolChange)
    changed = await get_authorized_host(request).tools.change_custom(
        request.match_info["name"], enabled=body.enabled, shared=body.shared
    )
    return json_response({"name": changed.full_name, "enabled": changed.is_enabled, "shared": changed.is_shared})


@routes.delete("/api/tools/{name}")
async def delete_custom_tool(request: web.Request) -> web.Response:
    """Delete a custom tool."""
    deleted = await get_authorized_host(request).tools.delete_custom(request.match_info["name"])
    return json_response({"name": deleted.full_name, "ok": True})


@routes.get("/api/skills")
async def list_skills(request: web.Request) -> web.Response:
    """Return the skills with their state and the length of their instructions; problems for operators only."""
    authorized_host, services = get_reader(request), get_host(request).services
    if services.skills is None:
        return json_response({"items": [], "problems": []})
    found = await services.clock.run_in_thread(services.skills.read)
    count_tokens = services.gateway.tokens.count_text
    items = [
        {**_skill_to_json(each), "enabled": name not in found.disabled, "tokens": count_tokens(each.instructions)}
        for name, each in found.skills.items()
    ]
    problems = [str(each) for each in found.problems] if authorized_host.user.operator else []
    return json_response({"items": items, "problems": problems})


def _digest(authorized_host: AuthorizedHost) -> str:
    """Return the version of the tools that a user may use: a digest of everything that a client is told of them."""
    shown = [_tool_to_json(each) for each in authorized_host.tools.list()]
    return sha256(encode_json(shown).encode()).hexdigest()[:VERSION_DIGITS]


def _skill_to_json(skill: SkillPackage) -> dict[str, Any]:
    return {
        "name": skill.name,
        "description": skill.description,
        "callable": skill.is_callable,
        "argument_hint": skill.argument_hint,
        "requires": [*skill.requires],
        "allowed_tools": None if skill.allowed_tools is None else [*skill.allowed_tools],
        "tools": [f"{skill.name}.{each.name}" for each in skill.manifest.tools] if skill.manifest is not None else [],
    }


def _error_to_json(error: ToolError) -> dict[str, str]:
    return {"at": error.at.isoformat(), "outcome": error.outcome, "text": error.text}


def _tool_to_json(tool: Tool) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": tool.description,
        "risk": tool.risk.label,
        "group": tool.group,
        "tags": list(tool.tags),
        "editable": tool.editable,
        "parameters": dict(tool.parameters),
    }
