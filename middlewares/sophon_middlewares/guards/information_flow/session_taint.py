"""Taint of a session, of what a call reads, of its result and of what it writes, in the store of data labels."""

import os
import re
from collections.abc import Sequence
from itertools import islice
from pathlib import PurePath

from sophon.attachments import UPLOADS_FOLDER
from sophon.builtin_tools.files import resolve_files_root
from sophon.context import Context
from sophon.extensions import Key
from sophon.messages import ToolCall, ToolResult
from sophon.security.action_types import ACTION_TYPES, find_action_type
from sophon.security.file_access import may_access_files
from sophon.security.information_flow.flow_decision import Label
from sophon.security.information_flow.sinks import OWN_TURN, may_use_network
from sophon.security.information_flow.sources import (
    LOCAL_ACTIONS,
    PRIVATE_ACTIONS,
    SourcePath,
    classify_source,
    find_source_paths,
    find_written_paths,
    lies_in_uploads,
    read_own_sources,
    reads_private_file,
)
from sophon.security.information_flow.taint import UNTAINTED, Taint
from sophon.stores.data_labels.contract import LabelWrite, file_key, folder_key, memory_key, name_file, session_key
from sophon.tools.declared_action_types import is_built_in, list_action_types
from sophon.tools.untrusted_text import find_fence_sources, unfence_text
from sophon.turn.provenance import list_message_sources, list_seen_messages
from sophon_middlewares.tool_calls.result_redaction import had_key

MAX_PARENTS = 24
"""Folders above a file that are looked up and labelled with it."""

LOADED: Key[bool] = Key("information_flow.loaded")
"""Set once `load_session_taint` has loaded the taint."""

_REMEMBERED = re.compile(r"Remembered as (\S+)\.")
_MEMORY_ID = re.compile(r'"id":\s*"([^"]+)"')


async def load_session_taint(ctx: Context) -> None:
    """Load the taint of the session once per turn and plan step; they share it from then on.

    Texts from outside that came with a message, and results from before the guard was enabled, are found by their
    fences in the conversation; files and images by the messages that have them.
    """
    if ctx.get(LOADED):
        return
    key = session_key(ctx.session_id)
    stored = (await ctx.services.store.data_labels.find([key])).get(key, UNTAINTED)
    known = stored.merge(ctx.tally.taint).merge(find_conversation_taint(ctx))
    ctx.tally.taint = ctx.tally.taint.merge(known)
    ctx.put(LOADED, True)
    if known != stored:
        await ctx.services.store.data_labels.write([LabelWrite(key, known)])


def find_conversation_taint(ctx: Context) -> Taint:
    """Return the taint that the fences, attachments and images of the conversation show.

    A model reads the content of an attachment, which is added to each request and stands in no stored message. Of a
    plan step and a sub-agent the turn's messages count, too: whoever planned has read them.
    """
    messages = list_seen_messages(ctx)
    calls = {each.id: each for message in messages for each in message.tool_calls}
    taint = UNTAINTED
    for message in messages:
        if not list_message_sources(message):
            continue
        call = calls.get(message.tool_call_id or "")
        is_private = call is not None and find_action_type(call.name) in PRIVATE_ACTIONS
        taint = taint.merge(Taint(0, is_private, call is None or not is_local(ctx, call)))
    return taint


def is_local(ctx: Context, call: ToolCall) -> bool:
    """Return whether the result of a call comes from this host: files, or a command that sends nothing.

    Only of built-in tools it does: any other says by `external`, or by the fence of a result, that it does not.
    """
    tool = ctx.services.registry.get(call.name)
    if tool is None or not is_built_in(tool):
        return False
    if call.name in OWN_TURN:
        return True  # what it has read from elsewhere is in the taint of the turn already
    action_type = find_action_type(call.name)
    if action_type == "execute_command":
        return not may_use_network(call.arguments)
    return action_type in LOCAL_ACTIONS


async def find_call_taint(ctx: Context, call: ToolCall) -> Taint:
    """Return the taint of what a call reads from files, by their names and by who has written them."""
    action_type = find_action_type(call.name)
    if not may_access_files(action_type, call.arguments):
        return UNTAINTED
    root = _find_root(ctx)
    types = list_action_types(call.name, ctx.services.registry.get(call.name), call.arguments)
    paths = dict.fromkeys(path for each in types for path in find_source_paths(each, call.arguments, root))
    if not paths:
        return UNTAINTED
    own = read_own_sources(tuple(ctx.settings.guards.information_flow.sources.items()))
    label = max(classify_source(each, own, root) for each in paths)
    # Of the other known actions, it is their name that says whether they read anything private.
    is_private = action_type not in ACTION_TYPES or "execute_command" in types
    is_upload = any(lies_in_uploads(each, f"{root}{os.sep}{UPLOADS_FOLDER}") for each in paths)
    taint = Taint(int(label), is_private and reads_private_file(paths), is_upload)
    keys = [key for each in paths for key in _list_keys(ctx, each)]
    for found in (await ctx.services.store.data_labels.find(keys)).values():
        taint = taint.merge(found)
    return taint


def find_result_taint(ctx: Context, call: ToolCall, result: ToolResult, reads: Taint) -> Taint:
    """Return the taint of a result; `reads` is that of the files that the call has read.

    A result of this host that holds a key is restricted, whatever the file is called. The errors of the built-in file
    tool contain nothing of a file.
    """
    action_type = find_action_type(call.name)
    tool = ctx.services.registry.get(call.name)
    if call.name == "files.read" and result.outcome != "completed" and tool is not None and is_built_in(tool):
        return UNTAINTED
    is_outside = bool((tool is not None and tool.external) or find_fence_sources(result.text))
    is_outside = is_outside and not is_local(ctx, call)
    is_private = action_type in PRIVATE_ACTIONS
    # What a page shows to everybody is no secret of this host, whatever its form.
    has_key = (is_private or not is_outside) and had_key(ctx, call, result)
    return reads.merge(Taint(Label.RESTRICTED if has_key else 0, is_private or has_key, is_outside))


async def find_memory_taint(ctx: Context, call: ToolCall, result: ToolResult) -> Taint:
    """Return the taint of the memory entries that a search has found, by their ids in its result."""
    if find_action_type(call.name) != "memory_search":
        return UNTAINTED
    keys = [memory_key(entry_id) for entry_id in dict.fromkeys(_MEMORY_ID.findall(unfence_text(result.text)))]
    taint = UNTAINTED
    for found in (await ctx.services.store.data_labels.find(keys)).values():
        taint = taint.merge(found)
    return taint


async def raise_session_taint(ctx: Context, taint: Taint, more: Sequence[LabelWrite] = ()) -> None:
    """Merge a taint into that of the session, and store it with further labels."""
    writes = list(more)
    merged = ctx.tally.taint.merge(taint)
    if merged != ctx.tally.taint:
        ctx.tally.taint = merged
        writes.append(LabelWrite(session_key(ctx.session_id), merged))
    if writes:
        await ctx.services.store.data_labels.write(writes)


def build_file_labels(ctx: Context, call: ToolCall, reads: Taint) -> list[LabelWrite]:
    """Return the labels of the files that a call is about to write: that of the session, and of what the call reads."""
    tool = ctx.services.registry.get(call.name)
    types = list_action_types(call.name, tool, call.arguments)
    taint = ctx.tally.taint.merge(reads)
    is_download = (tool is not None and tool.external and not is_local(ctx, call)) or (
        "execute_command" in types and may_use_network(call.arguments)
    )
    if is_download and may_access_files(types[0], call.arguments):
        taint = taint.merge(Taint(is_untrusted=True))
    if taint == UNTAINTED:
        return []
    root = _find_root(ctx)
    paths = dict.fromkeys(path for each in types for path in find_written_paths(each, call.arguments, root))
    keys = [key for path in paths for key in (file_key(_name(ctx, path)), *map(folder_key, _list_parents(ctx, path)))]
    return [LabelWrite(key, taint) for key in dict.fromkeys(keys)]


def list_result_labels(ctx: Context, call: ToolCall, result: ToolResult) -> list[LabelWrite]:
    """Return the labels that are known with the result: of a memory entry, and of a file that was replaced as a whole.

    Such a file contains nothing but what this session has written.
    """
    if result.outcome != "completed":
        return []
    taint, tool = ctx.tally.taint, ctx.services.registry.get(call.name)
    if call.name == "memory.write" and taint != UNTAINTED and (entry := _REMEMBERED.match(result.text)):
        return [LabelWrite(memory_key(entry[1]), taint)]
    if call.name == "files.write" and not call.arguments.get("append") and tool is not None and is_built_in(tool):
        paths = find_written_paths("write_file", call.arguments, _find_root(ctx))
        return [LabelWrite(file_key(_name(ctx, path)), taint, replaces=True) for path in paths]
    return []


def _list_keys(ctx: Context, source: SourcePath) -> list[str]:
    """Return the keys under which something about a file may be stored: a command may have written its folder."""
    name = _name(ctx, source.path)
    keys = [file_key(name), *map(file_key, _list_parents(ctx, source.path))]
    return [*keys, folder_key(name)] if source.is_folder else keys


def _list_parents(ctx: Context, path: str) -> list[str]:
    return [_name(ctx, str(parent)) for parent in islice(PurePath(path).parents, MAX_PARENTS)]


def _find_root(ctx: Context) -> str:
    return os.path.realpath(resolve_files_root(ctx))


def _name(ctx: Context, path: str) -> str:
    return name_file(path, ctx.services.folder)
