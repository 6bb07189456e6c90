"""Treatment of each kind of inbound message, or part of one: read, described, answered or ignored.

Each kind has one defined treatment: none is dropped in silence by accident.
"""

from collections.abc import Mapping
from itertools import groupby
from typing import Literal, TypeAlias

from sophon._python.lazy_dataclass import dataclass

KindTreatment: TypeAlias = Literal["read", "described", "answered", "ignored", "detail"]
"""read: the text or a file of the message; described: becomes text, marked as text from elsewhere; answered: the chat
is told that it cannot be read; ignored: no message to the bot; detail: says something about the message, and is no
content.
"""

UNKNOWN_KIND = "this kind of message"
"""Label of a kind that no table has."""

_TREATMENTS: Mapping[KindTreatment, str] = {
    "read": "read",
    "described": "described",
    "answered": "a sentence in the chat",
    "ignored": "ignored",
    "detail": "no content",
}


@dataclass(frozen=True, slots=True)
class MessageKind:
    """Treatment of one kind. `label` names it in the sentence of an answered kind ("stories"), and otherwise says, in
    the documentation, what becomes of it.
    """

    treatment: KindTreatment
    label: str


def build_kinds(*groups: tuple[KindTreatment, str, str]) -> dict[str, MessageKind]:
    """Return the kinds by name, from groups of treatment, label, and names separated by spaces. Pure."""
    return {name: MessageKind(treatment, label) for treatment, label, names in groups for name in names.split()}


def format_unreadable_notice(label: str) -> str:
    """Return the sentence for a message of a kind that cannot be read."""
    return f"I cannot read {label} yet; please write it as text."


def render_kind_table(kinds: Mapping[str, MessageKind]) -> str:
    """Return the kinds as a markdown table, one row per treatment and label, for the documentation. Pure."""
    rows = ["| in the message | treatment | |", "|---|---|---|"]
    for kind, names in groupby(kinds, key=kinds.__getitem__):
        label = f"“{format_unreadable_notice(kind.label)}”" if kind.treatment == "answered" else kind.label
        rows.append(f"| {', '.join(f'`{name}`' for name in names)} | {_TREATMENTS[kind.treatment]} | {label} |")
    return "\n".join(rows)
