"""Tools of a conversation off the record: a list of those that read; every other tool is refused.

Source of the list: OpenParallax (OTR mode).
"""

from collections.abc import Mapping
from typing import Any, Final

from sophon.security.action_types import find_action_type

OFF_THE_RECORD_ACTIONS: Final = frozenset(
    {
        *("read_file", "list_directory", "search_files", "http_request"),
        *("browser_navigate", "browser_extract", "browser_screenshot"),
        *("read_calendar", "git_status", "git_diff", "git_log", "memory_search"),
    }
)
"""Action types that are allowed; `http_request` only with the method GET."""

STATELESS_TOOLS: Final = frozenset(
    {"datetime.now", "calculator", "load_tools", "load_skills", "read_skill_file", "chat.ask"}
)
"""Built-in tools that are allowed besides: they read and keep nothing."""

_SENDING_TOOLS: Final = frozenset({"http.send"})
"""Tools of an allowed type that have no method to read with."""


def is_offered_off_the_record(tool_name: str) -> bool:
    """Return whether any call of the tool could be allowed, so that a model is offered it. Pure."""
    if tool_name in _SENDING_TOOLS:
        return False
    return tool_name in STATELESS_TOOLS or find_action_type(tool_name) in OFF_THE_RECORD_ACTIONS


def find_off_the_record_refusal(tool_name: str, arguments: Mapping[str, Any]) -> str | None:
    """Return why a call is refused off the record, as a sentence for model and person; None if it is allowed. Pure."""
    if not is_offered_off_the_record(tool_name):
        return describe_refusal(tool_name)
    if find_action_type(tool_name) == "http_request" and not _only_gets(arguments):
        return "this conversation is off the record, where web requests only use the method GET, without a body"
    return None


def describe_refusal(tool_name: str) -> str:
    """Return the sentence with which every call of a tool is refused."""
    return f"this conversation is off the record, where tools only read; {tool_name} may not run"


def _only_gets(arguments: Mapping[str, Any]) -> bool:
    method = arguments.get("method", "GET")
    has_body = any(arguments.get(name) for name in ("body", "data", "json", "files"))
    return isinstance(method, str) and method.upper() == "GET" and not has_body
