"""Settings of schedules: tasks that the host starts at set times, and the heartbeat."""

from datetime import timedelta
from typing import Annotated, Literal

from sophon.settings.root import RootSection
from sophon.settings.types.field_types import CaseInsensitive, Duration, Flag, TimeOfDay, TimeZoneName, WholeNumber
from sophon.settings.types.section import Field, SettingsSection


class HeartbeatSettings(SettingsSection):
    """The heartbeat: tasks from HEARTBEAT.md in Memory.Directory."""

    enabled: Flag = Field(default=False, description="Whether the entries of HEARTBEAT.md are run.")
    model: str | None = Field(default=None, description="Model of these runs, as a cheap one; null: as of any message.")
    session: str | None = Field(
        default=None,
        description="Session of a chat to which replies go that say something; null: they are only in a session of "
        "their own.",
    )


class SchedulesSettings(RootSection, key="Schedules", description="Tasks that the host starts at set times."):
    """Schedules."""

    enabled: Flag = Field(
        default=True, description="Whether the host fires schedules and offers the tools that make them."
    )
    per_user: WholeNumber = Field(default=20, ge=1, description="Schedules that one person may have at once.")
    min_interval: Duration = Field(
        default=timedelta(minutes=1), description="Shortest time between two runs of one schedule."
    )
    time_zone: TimeZoneName = Field(
        default="UTC", description="Time zone of schedules that name none, such as Europe/Vienna."
    )
    misfire: Annotated[Literal["Skip", "Once", "All"], CaseInsensitive()] = Field(
        default="Once",
        description="What is run of the times at which the host was down, unless the schedule says it itself: none, "
        "the last one, or all up to MaxCatchUp.",
    )
    max_catch_up: WholeNumber = Field(
        default=10, ge=1, le=100, description="Times of one schedule that are made up for by the policy All."
    )
    quiet_hours: tuple[TimeOfDay, ...] | None = Field(
        default=None,
        min_length=2,
        max_length=2,
        description="From and to, as HH:MM in the schedule's time zone; may pass midnight. Then nothing is run, unless "
        "the schedule has hours of its own or names one single moment.",
    )
    quiet_action: Annotated[Literal["Postpone", "Skip"], CaseInsensitive()] = Field(
        default="Postpone", description="What becomes of a run in quiet hours: it follows them, or is left out."
    )
    heartbeat: HeartbeatSettings = Field(
        default_factory=HeartbeatSettings.defaults, description="Tasks from HEARTBEAT.md."
    )
