"""Action types: the kinds of actions that rules are written for, whatever the tool is called.

The names are those of OpenParallax. A tool with the name of an action type is one; built-in tools are mapped."""

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

ACTION_TYPES: Final = frozenset(
    {
        *("read_file", "write_file", "delete_file", "move_file", "copy_file", "list_directory", "search_files"),
        *("grep_files", "create_directory", "copy_directory", "move_directory", "delete_directory"),
        *("archive_create", "archive_extract", "pdf_read", "spreadsheet_read", "spreadsheet_write"),
        *("execute_command", "open", "notify", "system_info", "screenshot", "clipboard_read", "clipboard_write"),
        *("http_request", "send_message", "send_email", "email_list", "email_read", "email_search", "email_move"),
        *("email_mark", "browser_navigate", "browser_click", "browser_type", "browser_extract", "browser_screenshot"),
        *("read_calendar", "create_event", "update_event", "delete_event"),
        *("create_schedule", "delete_schedule", "list_schedules"),
        *("git_status", "git_diff", "git_log", "git_commit", "git_push", "git_pull", "git_branch", "git_checkout"),
        *("git_clone", "memory_write", "memory_search", "canvas_create", "canvas_update", "canvas_project"),
        *("generate_image", "edit_image", "generate_video"),
        *("create_agent", "agent_status", "agent_result", "agent_message", "delete_agent", "list_agents"),
    }
)

_BUILT_IN: Final = {
    "files.read": "read_file",
    "files.write": "write_file",
    "files.list": "list_directory",
    "http.request": "browser_navigate",  # it only reads; what it sends in its URL is for the information flow to judge
    "http.send": "http_request",
    "system.execute": "execute_command",
    "shell": "execute_command",
    "bash": "execute_command",
    "memory.write": "memory_write",
    "memory.forget": "memory_write",
    "memory.search": "memory_search",
    "memory.read": "memory_search",
    "memory.graph": "memory_search",
    "chat.send_file": "send_message",
}

PATH_ARGUMENTS: Final = (
    *("path", "source", "destination", "dir", "file", "target"),
    *("paths", "files", "src", "dst", "dest", "file_path", "filepath", "file_name", "filename", "directory", "folder"),
    *("old_path", "new_path", "attachment", "attachments"),
)
"""Names of the arguments in which an action has its paths."""

_PATH_ARGUMENT_SET: Final = frozenset(PATH_ARGUMENTS)

LASTING_ACTIONS: Final = frozenset(
    {"memory_write", "create_schedule", "delete_schedule", "create_agent", "delete_agent"}
)
"""Action types whose tools have lasting effects, unless they declare otherwise."""

LASTING_EFFECT: Final = "lasting_effect"
"""Rule of the escalation."""

MAX_NAMED_SOURCES: Final = 3


def find_action_type(tool_name: str) -> str:
    """Return the action type of a tool: what a built-in tool is mapped to, else the tool's own name."""
    return _BUILT_IN.get(tool_name, tool_name)


def has_path_arguments(payload: Mapping[str, Any]) -> bool:
    """Return whether an argument can hold a path. Of most calls none can, and this is the cheap test."""
    return not _PATH_ARGUMENT_SET.isdisjoint(payload)


def find_paths(payload: Mapping[str, Any]) -> Iterator[str]:
    """Yield the paths in an action's arguments; lists and objects are taken apart, without recursion.

    A text that no system opens as a path is none.
    """
    if not has_path_arguments(payload):
        return
    stack: list[Any] = [payload[name] for name in reversed(PATH_ARGUMENTS) if name in payload]
    while stack:
        value = stack.pop()
        if isinstance(value, str):
            if value and can_be_path(value):
                yield value
        elif isinstance(value, Mapping):
            stack += reversed(list(value.values()))  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType] - JSON
        elif isinstance(value, list | tuple):
            stack += reversed(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] - JSON


def can_be_path(text: str) -> bool:
    """Return whether a file system may open a text, as it is or stripped and normalised in a folder.

    By its length alone: most file systems allow any other character.
    """
    if len(text) < MAX_PATH_BYTES:
        return True
    return len(posixpath.normpath(f"/{text.strip()}").encode("utf-8", "surrogatepass")) < MAX_PATH_BYTES


MAX_PATH_BYTES: Final = 4096
"""PATH_MAX of Linux, with the NUL at the end: a longer path is refused by the system (ENAMETOOLONG)."""


def has_lasting_effect(tool_name: str, declared: bool | None) -> bool:
    """Return whether a tool changes what outlasts the conversation: as it declares, else by its action type.

    What an injected instruction leaves in the memory, a schedule or a goal acts in later conversations, which never
    read the text that it came from.
    """
    return find_action_type(tool_name) in LASTING_ACTIONS if declared is None else declared


def explain_lasting_effect(sources: Sequence[str]) -> str:
    """Return why a person is asked about a call with a lasting effect, as a sentence that names what was read."""
    more = f" and {len(sources) - MAX_NAMED_SOURCES} more" if len(sources) > MAX_NAMED_SOURCES else ""
    named = ", ".join(sources[:MAX_NAMED_SOURCES])
    return (
        f"it changes what outlasts this conversation, which has read text of others that may ask for it: {named}{more}"
    )
