"""Settings of goals: plans that the host works on for hours or days, and what one user may use of it.

Source of the defaults: WASP, goal engine and resource governor, those of the code where the page has others.
"""

from datetime import timedelta
from typing import Annotated, Literal

from sophon.settings.root import RootSection
from sophon.settings.types.field_types import CaseInsensitive, Duration, Flag, WholeNumber
from sophon.settings.types.section import Field, SettingsSection

AutonomySetting = Annotated[Literal["Assist", "Semi", "Full"], CaseInsensitive()]


class GoalBudgetSettings(SettingsSection):
    """What one goal may use. One that has used up a limit is paused; who resumes it gives it as much again."""

    planning_tokens: WholeNumber = Field(
        default=2000, ge=1, description="Tokens that models write for plans and their review (published page: 4000)."
    )
    execution_tokens: WholeNumber = Field(
        default=10_000, ge=1, description="Tokens that models write in steps (published page: 20000)."
    )
    replans: WholeNumber = Field(default=5, ge=0, description="New plans after the first.")
    steps: WholeNumber = Field(default=50, ge=1, description="Tries of steps (published page: 8).")
    parallel: WholeNumber = Field(default=1, ge=1, le=8, description="Steps of one goal that run at once.")
    runtime_seconds: WholeNumber = Field(
        default=3600, ge=1, description="Seconds in which a step runs; waiting for people does not count."
    )


class ResourceLimitSettings(SettingsSection):
    """What unattended work may use per user: goals, and with them schedules and the heartbeat."""

    active_goals: WholeNumber = Field(default=10, ge=1, description="Goals that are planned, worked on or paused.")
    running_agents: WholeNumber = Field(
        default=5, ge=1, description="Agents that work at once: steps without a tool, scheduled runs, their sub-agents."
    )
    tasks_per_hour: WholeNumber = Field(default=50, ge=1, description="Steps and scheduled runs that are started.")
    llm_calls_per_minute: WholeNumber = Field(default=30, ge=1, description="Model calls.")
    api_calls_per_minute: WholeNumber = Field(default=60, ge=1, description="Steps that call something outside.")
    tokens_per_minute: WholeNumber = Field(
        default=100_000, ge=1000, description="Tokens of model calls, counted in thousands."
    )


class GoalsSettings(RootSection, key="Goals", description="Plans that the host works on for hours or days."):
    """Goals: plans that the host carries out step by step, also when nobody writes."""

    enabled: Flag = Field(
        default=False, description="Whether users can make goals, by the tools goals.*, `sophon goals` and the API."
    )
    tick: Duration = Field(default=timedelta(seconds=15), description="Time between two looks at a goal.")
    max_concurrent: WholeNumber = Field(default=3, ge=1, le=100, description="Goals that are worked on at once.")
    autonomy: AutonomySetting = Field(
        default="Semi",
        description="Mode of goals that name none. Assist: every call asks. Semi: from High risk on. Full: only "
        "Critical ones.",
    )
    max_autonomy: AutonomySetting = Field(
        default="Full", description="The mode that lets most run unasked of those that a user may choose."
    )
    review: Flag = Field(default=True, description="Whether a second model call reviews each plan.")
    fail_paused_after: Duration = Field(
        default=timedelta(minutes=10),
        description="Time after which a goal fails that a rule has paused; one that a person has paused stays.",
    )
    keep_days: WholeNumber | None = Field(
        default=90, ge=8, description="Days that ended goals are kept; null: until their session is deleted."
    )
    budget: GoalBudgetSettings = Field(
        default_factory=GoalBudgetSettings.defaults, description="What one goal may use."
    )
    limits: ResourceLimitSettings = Field(
        default_factory=ResourceLimitSettings.defaults,
        description="What unattended work of one user may use.",
    )

    def limit_unattended_agents(self) -> int | None:
        """Return the limit of running agents: that of a person's schedules too, while goals are on."""
        return self.limits.running_agents if self.enabled else None
