"""Targets of a tool call in the information flow: its sinks, without a page whose address was seen before."""

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Final

from sophon.context import Context
from sophon.messages import ToolCall
from sophon.risk import Risk
from sophon.security.action_types import find_action_type
from sophon.security.flow_sinks import LINK_ACTIONS, find_sinks
from sophon.security.information_flow import Sink
from sophon.security.seen_links import is_seen_link
from sophon.tools.declared_action_types import find_trusted_action_type, is_built_in
from sophon.tools.tool import Tool
from sophon.tools.untrusted_text import find_fence_sources, unfence_text
from sophon_middlewares.guards.flow_taint import is_local

_SINKS: Final[dict[str, tuple[Sink, ...]]] = {
    "External": ("external",),
    "Exec": ("exec",),
    "Memory": ("memory",),
    "WorkspaceWrite": ("workspace_write",),
    "WorkspaceRead": ("workspace_read",),
    "None": (),
}


_PAGE_ARGUMENTS: Final = frozenset({"url", "headers"})


def find_open_sinks(ctx: Context, call: ToolCall, *, may_be_seen: bool) -> tuple[Sink, ...]:
    """Return where the arguments of a call go: by `Guards.InformationFlow.Sinks`, else by its action type.

    With `may_be_seen`, a request for a page whose address the user wrote, or a result contained, goes nowhere.
    """
    own = ctx.settings.guards.information_flow.sinks
    for glob, sink in own.items():
        if fnmatchcase(call.name, glob):
            return _SINKS[sink]
    tool = ctx.services.registry.get(call.name)
    if may_be_seen and _opens_page(call, tool) and is_seen_link(call.arguments, list_seen_texts(ctx, call)):
        return ("workspace_read",)
    return find_sinks(
        call.name,
        find_trusted_action_type(tool),
        call.arguments,
        is_external=tool is None or tool.external,
        risk=tool.risk if tool is not None else Risk.CRITICAL,
    )


def _opens_page(call: ToolCall, tool: Tool | None) -> bool:
    """Return whether a call does nothing but open its address: whatever else it has is sent there, too."""
    if tool is None or find_action_type(call.name) not in LINK_ACTIONS:
        return False
    return is_built_in(tool) or (tool.risk < Risk.MEDIUM and call.arguments.keys() <= _PAGE_ARGUMENTS)


def list_seen_texts(ctx: Context, call: ToolCall) -> Iterator[str]:
    """Yield the texts in which the address of a call may have been seen: of the user, and of results from outside.

    Not in a result that repeats an argument of its call, such as an error that names an address: the model wrote it.
    Nor in files, memory and the output of commands, where the model may have put it. The text of a plan step is a
    model's, too; in a step the user's texts are those of the turn.
    """
    url = str(call.arguments.get("url"))
    for message in ctx.root.messages:
        if message.role == "user" and not message.origin:
            yield from _spellings(message.content)
    calls = {each.id: each for message in ctx.messages for each in message.tool_calls}
    for message in ctx.messages:
        asked = calls.get(message.tool_call_id or "")
        if message.role != "tool" or asked is None or is_local(ctx, asked) or not find_fence_sources(message.content):
            continue
        if url not in asked.canonical_arguments().decode("utf-8", "replace"):
            yield from _spellings(unfence_text(message.content))


def _spellings(text: str) -> Iterator[str]:
    yield text
    if "&amp;" in text:
        yield text.replace("&amp;", "&")
