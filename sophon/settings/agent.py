"""The settings of a turn: loop, window, tools, plans, approvals, chain, memory and guards.

The numbers are the published ones: Sophon's orchestration guide, and where it leaves one open, design.md 4.
"""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from sophon.settings.section import Section
from sophon.settings.values import AnyCase, Duration, Flag, ImportPath, Network, Number, Whole

RiskName = Annotated[Literal["None", "Low", "Medium", "High", "Critical"], AnyCase()]
"""How dangerous a tool call is, from `None` to `Critical`."""


class AgentExecutionSettings(Section):
    """How long and how often one turn may work."""

    max_tool_iterations: Whole = Field(
        default=100,
        ge=1,
        description="Model calls with tools in one turn; at the cap one last call without tools sums up.",
    )
    max_tool_iterations_hard_limit: Whole = Field(
        default=500, ge=1, description="The most that MaxToolIterations may be set to, anywhere."
    )
    plan_max_steps: Whole = Field(default=20, ge=1, description="Steps a plan may have.")
    max_execution_time: Duration = Field(
        default=timedelta(hours=2), description="Time a task may take, from its start to its end."
    )
    max_concurrent_tasks: Whole = Field(default=3, ge=1, description="Turns that run at once; a session runs one.")
    recovery: Annotated[Literal["Resume", "Fail"], AnyCase()] = Field(
        default="Resume", description="What happens at start to tasks that a stop cut off: go on, or mark as failed."
    )

    titles: Flag = Field(default=True, description="Whether a host names a session after its first answer.")

    def conflicts(self) -> Iterator[tuple[str, str]]:
        """The soft limit stays within the hard one."""
        if self.max_tool_iterations > self.max_tool_iterations_hard_limit:
            limit = self.max_tool_iterations_hard_limit
            yield "MaxToolIterations", f"{self.max_tool_iterations} is more than MaxToolIterationsHardLimit ({limit})"


class ContextWindowSettings(Section):
    """When and how a conversation is shortened."""

    trigger: Number = Field(
        default=0.8, gt=0, le=1, description="Share of the model's window above which the conversation is compacted."
    )
    oldest: Number = Field(
        default=0.6, gt=0, le=1, description="Share of the messages, oldest first, that is summarised."
    )
    timeout: Duration = Field(default=timedelta(seconds=30), description="Time the summary may take.")
    fallback: Number = Field(
        default=0.7, gt=0, le=1, description="Share that is kept when there is no summary and the oldest are cut off."
    )


class ToolFilterSettings(Section):
    """How many tools a model is shown."""

    top: Whole = Field(default=10, ge=1, description="Tools offered per turn, the two that are always in counted.")


class PlanningSettings(Section):
    """When a request becomes a plan, and how its steps run."""

    mode: Annotated[Literal["Auto", "LlmDecides", "Always", "Never"], AnyCase()] = Field(
        default="Auto", description="Who decides on a plan: a score over the text, the model, or nobody."
    )
    max_depth: Whole = Field(default=3, ge=0, description="Plans within plans; 0 means no plan at all.")
    concurrency: Whole = Field(default=4, ge=1, description="Steps of a plan that run at once.")
    tries: Whole = Field(default=2, ge=1, description="Tries per step; a later one is told of the error.")


class ApprovalSettings(Section):
    """When a person is asked, and what happens without an answer."""

    ask_from: RiskName = Field(default="High", description="Calls of this risk and above wait for a person.")
    timeout: Duration = Field(default=timedelta(minutes=5), description="Time an approval waits for its answer.")
    on_timeout: Annotated[Literal["Deny", "Halt", "Park"], AnyCase()] = Field(
        default="Deny",
        description="Without an answer: refuse the call, end the turn, or keep the turn until somebody decides.",
    )
    auto_approve_up_to: RiskName | None = Field(
        default=None, description="Calls up to this risk are approved without asking; null approves nothing."
    )


class ChainSettings(Section):
    """Which chain a turn travels through."""

    name: str = Field(default="twelve", min_length=1, description="Name of a chain; `sophon chain` prints it.")
    factory: ImportPath | None = Field(
        default=None,
        description="A function of yours that is given the Services and gives the Pipeline; wins over Name.",
    )


class ToolsSettings(Section):
    """Which tools there are, and their limits."""

    modules: tuple[str, ...] = Field(default=(), description="Importable modules; every `@tool` in them is registered.")
    disabled: tuple[str, ...] = Field(default=(), description="Names of tools that are left out.")
    files_root: Path = Field(
        default=Path("data/files"), description="The folder outside of which the file tools see nothing."
    )
    allow_cidrs: tuple[Network, ...] = Field(
        default=(), description="Private networks that http.request may reach all the same; keep them narrow."
    )
    max_parallel: Whole = Field(default=8, ge=1, description="Tools of one turn that run at once.")
    max_result_characters: Whole = Field(
        default=8000,
        ge=100,
        description="Characters of a result that reach the model; the rest is cut off with a note.",
    )
    timeout: Duration = Field(
        default=timedelta(minutes=2), description="Time a tool call may take, unless the tool says otherwise."
    )


class GuardsSettings(Section):
    """The guards around tool calls. It has no keys."""


class MemorySettings(Section):
    """The long-term memory."""

    enabled: Flag = Field(default=True, description="Whether the memory tools exist.")
    learn: Flag = Field(
        default=False, description="Whether a host keeps, after each answer, what people said of themselves."
    )
