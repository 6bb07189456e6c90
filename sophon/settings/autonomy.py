"""Autonomy modes: what an agent may do without asking, as values of `Approval.AskFrom` and `Approval.AutoApproveUpTo`.

Modes and tools are those of WASP (goal engine). Critical calls need a person in each mode.
"""

from collections.abc import Mapping
from typing import Final

AUTONOMY: Final[Mapping[str, Mapping[str, str | None]]] = {
    "Assist": {"ask_from": "None", "auto_approve_up_to": None},
    "Semi": {"ask_from": "High", "auto_approve_up_to": None},
    "Full": {"ask_from": "High", "auto_approve_up_to": "High"},
}
"""Mode -> the settings that it stands for."""

DANGEROUS_TOOLS: Final = frozenset(
    {
        *("shell", "bash", "python_exec", "execute_code", "write_file", "read_file", "self_improve"),
        *("http_request", "web_request"),
    }
)
"""Tools that are of High risk at least in a mode, whatever risk they declare. The built-in tools of the same kind are
restricted to a folder and to public addresses, and keep their risk."""
