"""Text of an approval prompt in a chat, and whether a chat can show the approval completely."""

import re
from collections.abc import Mapping
from typing import Any

from sophon.approvals import ApprovalRequest, format_argument_lines
from sophon.builtin_tools.questions import list_choices
from sophon.invisible_characters import escape_invisible

MAX_CHAT_CHARACTERS = 12_000
"""Longest preview that a chat shows: three messages of the platforms. A longer one is decided elsewhere."""

TOO_LONG = "This is too long for a chat, so it cannot be approved here"
ELSEWHERE = "Read it on the web page, or with `sophon approvals show`, and decide there."

OPERATOR_NOTE = "Waiting for an operator: it cannot be approved by the person who asked."
"""Second line of a prompt that only an operator may approve."""

MAX_NAME_CHARACTERS, MAX_REASON_CHARACTERS = 64, 500
"""Length of a person's name and of a reason in the line that shows a decision."""

MAX_EDITED_VALUE_CHARACTERS = 500
"""Length of a value in a decision with edited arguments."""

_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>|~&])")


def fits_into_chat(request: ApprovalRequest) -> bool:
    """Return whether a chat shows the request completely; only then may it be approved there."""
    return len(request.whole_preview) <= MAX_CHAT_CHARACTERS


def format_refusal(approval_id: str) -> str:
    """Return the answer to somebody who approves in a chat what the chat did not show."""
    return f"{TOO_LONG} ({approval_id}). {ELSEWHERE.replace('`', '')}"


def format_heading(request: ApprovalRequest) -> str:
    """Return the question in one line."""
    if request.kind == "question":
        return "A question"
    if request.kind == "plan":
        return "May this plan be carried out?"
    return f"May {request.tool} run? ({request.risk.label} risk)"


def format_answer_commands(request: ApprovalRequest, code: str) -> str:
    """Return how to answer a question in a chat, which has no field for it."""
    number = " (or the number of a choice)" if list_choices(request.arguments) else ""
    return f"/answer {code} TEXT{number}, or /reject {code}"


def format_more_commands(request: ApprovalRequest, code: str, *, can_allow: bool, can_edit: bool) -> str:
    """Return what else can be done with a call, one line each, and which later calls an approval in advance covers."""
    offer = to_visible_line(request.grant_offer, MAX_REASON_CHARACTERS)
    text = f"\n/approve {code} chat allows, for this conversation: {offer}" if can_allow else ""
    return text + (f"\n/edit {code} changes the arguments first" if can_edit else "")


def format_version(request: ApprovalRequest, arguments: Mapping[str, Any], commands: str) -> str | None:
    """Return an edited call as markdown, complete; None if it is too long for a chat."""
    preview = "\n".join([f"Run {request.tool}", *format_argument_lines(arguments)])
    if len(preview) > MAX_CHAT_CHARACTERS:
        return None
    heading = escape_markdown(f"So {request.tool} would run. May it?")
    return "\n\n".join([heading, f"```\n{_close_no_fence(preview)}\n```", escape_markdown(commands)])


def format_edit(arguments: Mapping[str, Any]) -> str:
    """Return the arguments with which an edited call runs, as plain text."""
    lines = format_argument_lines(arguments, limit=MAX_EDITED_VALUE_CHARACTERS)
    return "\n".join(["It runs with edited arguments:", *lines])[:MAX_CHAT_CHARACTERS]


def format_prompt(request: ApprovalRequest, commands: str) -> str:
    """Return the prompt as markdown: heading, the preview as a code block, commands.

    In a code block the platforms interpret nothing: no link, no command, no markup, no space.
    """
    preview = request.whole_preview if fits_into_chat(request) else request.preview
    heading = format_heading(request)
    if request.needs_operator:
        heading += f"\n{OPERATOR_NOTE}"
    lines = [escape_markdown(heading), f"```\n{_close_no_fence(preview)}\n```"]
    if not fits_into_chat(request):
        lines.append(f"{TOO_LONG} (`{request.id}`). {ELSEWHERE}")
    return "\n\n".join([*lines, escape_markdown(commands)])


def to_visible_line(text: str, limit: int) -> str:
    """Return what a person wrote as one line without invisible characters, cut to `limit` characters."""
    line = escape_invisible(" ".join(text.split()))
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def escape_markdown(text: str) -> str:
    """Return markdown that is shown as `text`."""
    return _MARKDOWN.sub(r"\\\1", text)


def _close_no_fence(text: str) -> str:
    """Show three backticks, which would end the code block, as escapes."""
    return text.replace("```", "⟦U+0060⟧" * 3)
