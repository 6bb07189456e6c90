"""Settings of retention: how long a host keeps what it has stored."""

from sophon.settings.root import RootSection
from sophon.settings.types.field_types import WholeNumber
from sophon.settings.types.section import Field


class RetentionSettings(RootSection, key="Retention", description="How many days stored data is kept; null: for ever."):
    """How long stored data is kept, in days; null: for ever. Sessions are deleted as a whole, never single messages."""

    sessions: WholeNumber | None = Field(
        default=None,
        ge=1,
        description="Days without anything new after which a session is deleted with all that belongs to it, unless a "
        "task, a schedule or a goal of it has not ended.",
    )
    events: WholeNumber | None = Field(
        default=None, ge=1, description="Days that events are kept for a replay, the newest 5,000 of a session at most."
    )
    runs: WholeNumber | None = Field(
        default=None, ge=30, description="Days that finished tasks are kept; at least 30, because platforms repeat."
    )
    usage: WholeNumber | None = Field(
        default=None,
        ge=1,
        description="Days that usage is kept for reports; budgets do not need it.",
    )
    audit: WholeNumber | None = Field(default=30, ge=1, description="Days that the audit log is kept.")
    traces: WholeNumber | None = Field(
        default=30, ge=1, description="Days that traces of turns are kept, and with them the turns per day of reports."
    )
