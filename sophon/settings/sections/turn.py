"""Settings sections of a turn: agentic loop, context window, tools, plans, approvals, chain and memory.

Source of the defaults: Sophon's orchestration guide, and our own choice where it gives no number.
"""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal

from sophon.risk import Risk
from sophon.settings.autonomy import AUTONOMY
from sophon.settings.sections.routing import find_unknown_task_types
from sophon.settings.types.field_types import (
    CaseInsensitive,
    CidrNetwork,
    Duration,
    FiniteNumber,
    Flag,
    ImportPath,
    WholeNumber,
)
from sophon.settings.types.section import Field, SettingsSection, to_pascal_case
from sophon.task_types import TASK_TYPES

RiskSetting = Annotated[Literal["None", "Low", "Medium", "High", "Critical"], CaseInsensitive()]
"""Risk level of a tool call, from `None` to `Critical`."""


class AgentExecutionSettings(SettingsSection):
    """Limits on the execution of one turn."""

    changeable = ("max_tool_iterations", "max_execution_time", "plan_max_steps")

    max_tool_iterations: WholeNumber = Field(
        default=100,
        ge=1,
        description="Model calls with tools in one turn, unless the chain or the message sets its own ceiling; at the "
        "limit one last call without tools summarises.",
    )
    max_tool_iterations_hard_limit: WholeNumber = Field(
        default=500, ge=1, description="Upper bound of that number, wherever it is set."
    )
    plan_max_steps: WholeNumber = Field(default=20, ge=1, description="Maximum number of steps of a plan.")
    max_execution_time: Duration = Field(
        default=timedelta(hours=2),
        description="Time of work after which a host stops a task that is still running, even in the middle of a call; "
        "before, in the last tenth of it (at most 5 minutes), no tool call starts and the turn sums up.",
    )
    shutdown_grace: Duration = Field(
        default=timedelta(seconds=30),
        description="Time that running turns have to end when a host is stopped; then they are interrupted, and resume "
        "in another process or at the next start.",
    )
    max_reply_bytes: WholeNumber = Field(
        default=4 * 1024 * 1024,
        ge=1024,
        description="Bytes of a reply of the model: its text, reasoning and tool calls in UTF-8, together with the "
        "texts that the turn has before its tool calls; a larger one ends with the error `response_too_large`.",
    )
    max_concurrent_tasks: WholeNumber = Field(
        default=3, ge=1, description="Turns that run concurrently; a session runs one at a time."
    )
    recovery: Annotated[Literal["Resume", "Fail"], CaseInsensitive()] = Field(
        default="Resume",
        description="What happens at startup to interrupted tasks: resume them, or mark them as failed.",
    )

    titles: Flag = Field(
        default=True, description="Whether the host generates a title for a session after its first reply."
    )

    title_from_messages: WholeNumber = Field(
        default=1, ge=1, description="Messages of a session from which a title is generated; 2 are one exchange."
    )

    def find_conflicts(self) -> Iterator[tuple[str, str]]:
        """Yield a conflict if MaxToolIterations exceeds the hard limit."""
        if self.max_tool_iterations > self.max_tool_iterations_hard_limit:
            limit = self.max_tool_iterations_hard_limit
            yield "MaxToolIterations", f"{self.max_tool_iterations} is more than MaxToolIterationsHardLimit ({limit})"


class ContextWindowSettings(SettingsSection):
    """Compaction of the conversation to the model's context window, or to a budget."""

    changeable = ("trigger",)

    strategy: Annotated[Literal["Summary", "MiddleDrop", "Relevant"], CaseInsensitive()] = Field(
        default="Summary",
        description="Summary: a model summarises the oldest messages. MiddleDrop: the first message and the newest "
        "ones are kept. Relevant: the first, the newest round, and what is similar to the question, by the embedder.",
    )
    max_tokens: WholeNumber | None = Field(
        default=None, ge=1, description="Tokens that a request may use at most; null: what fits the model's window."
    )
    task_tokens: Mapping[str, WholeNumber] = Field(
        default_factory=dict[str, int], description="The same by task type, such as `chat`, instead of MaxTokens."
    )
    trigger: FiniteNumber = Field(
        default=0.8,
        gt=0,
        le=1,
        description="Share of the model's context window above which the conversation is compacted.",
    )
    oldest: FiniteNumber = Field(
        default=0.6, gt=0, le=1, description="Share of the messages, oldest first, that is summarised."
    )
    timeout: Duration = Field(default=timedelta(seconds=30), description="Timeout of the summary call.")
    fallback: FiniteNumber = Field(
        default=0.7,
        gt=0,
        le=1,
        description="Share that is kept when the summary fails and the oldest messages are dropped.",
    )
    reserve: WholeNumber | None = Field(
        default=None,
        ge=1,
        description="Tokens of the window that are kept for the answer, at most half of it: Trigger and Fallback are "
        "shares of the rest. The answer may have as many, or 4096 if that is more. null: 256 tokens, and shares of the "
        "whole window.",
    )
    stale_result_turns: WholeNumber | None = Field(
        default=4,
        ge=1,
        description="Age in turns from which the model sees a tool result as a summary of its size and type. What is "
        "stored stays. null: never.",
    )
    stale_result_step: WholeNumber | None = Field(
        default=None,
        ge=1,
        description="Turns whose results are replaced at a time, when the newest of them has that age: the more, the "
        "less often a prompt cache is missed. 1: each at its age. null: as many as StaleResultTurns.",
    )
    history_messages: WholeNumber | None = Field(
        default=None, ge=1, description="Messages of earlier turns that the model sees at most: the newest; null: all."
    )
    history_tokens: WholeNumber | None = Field(
        default=None, ge=1, description="Tokens of earlier turns that the model sees at most, as HistoryMessages."
    )

    def find_conflicts(self) -> Iterator[tuple[str, str]]:
        """Yield each key of TaskTokens that is no task type."""
        for name in self.task_tokens:
            if name not in TASK_TYPES:
                yield f"TaskTokens.{name}", f"there is no task type {name!r}; there are {', '.join(TASK_TYPES)}"


class ToolFilterSettings(SettingsSection):
    """Number of tools offered to a model."""

    changeable = ("top",)

    top: WholeNumber = Field(
        default=10, ge=1, description="Tools offered per turn, including the two that are always offered."
    )


class PlanningSettings(SettingsSection):
    """When a request is planned, and how the steps of the plan run."""

    changeable = ("mode", "max_depth")

    mode: Annotated[Literal["Auto", "LlmDecides", "Always", "Never"], CaseInsensitive()] = Field(
        default="Auto", description="What decides on planning: a score of the text, the model, or always or never."
    )
    max_depth: WholeNumber = Field(default=3, ge=0, description="Nesting depth of plans; 0 disables planning.")
    concurrency: WholeNumber = Field(default=4, ge=1, description="Steps of a plan that run concurrently.")


AutonomyMode = Annotated[Literal["Assist", "Semi", "Full"], CaseInsensitive()]


class ApprovalSettings(SettingsSection):
    """When a tool call needs approval, and what happens when the approval times out."""

    autonomy: AutonomyMode | None = Field(
        default=None,
        description="Assist: every call needs approval. Semi: from High risk on. Full: Critical ones only. Sets "
        "AskFrom and AutoApproveUpTo, and tools with dangerous names count as High; null leaves it to those two.",
    )
    ask_from: RiskSetting = Field(default="High", description="Calls of this risk and above need approval.")
    timeout: Duration = Field(default=timedelta(minutes=5), description="Time after which a pending approval expires.")
    on_timeout: Annotated[Literal["Deny", "Halt", "Park"], CaseInsensitive()] = Field(
        default="Deny",
        description="At the timeout: deny the call, end the turn, or keep the turn suspended until a decision.",
    )
    auto_approve_up_to: RiskSetting | None = Field(
        default=None, description="Calls up to this risk are approved automatically; null disables it."
    )
    four_eyes: Flag = Field(
        default=False, description="Whether calls of Critical risk need an operator other than the person who asked."
    )
    questions: Flag = Field(
        default=False, description="Whether the model has the tool chat.ask, which asks the person a question."
    )
    questions_per_hour: WholeNumber | None = Field(
        default=None,
        ge=0,
        description="Calls per user and hour that a person is asked about; more are denied at once. null: no limit.",
    )
    grant_expiry: Duration = Field(
        default=timedelta(days=30), description="Time after which an approval in advance (a grant) ends."
    )

    @cached_property
    def risks(self) -> tuple[Risk, Risk | None]:
        """`ask_from` and `auto_approve_up_to` as risk levels."""
        most = self.auto_approve_up_to
        return Risk.parse(self.ask_from), None if most is None else Risk.parse(most)

    def find_conflicts(self) -> Iterator[tuple[str, str]]:
        """Yield a setting that is not what the autonomy mode sets it to."""
        for name, value in self._list_set_by_mode():
            if name in self.model_fields_set and getattr(self, name) != value:
                yield (
                    to_pascal_case(name),
                    f"{getattr(self, name)} contradicts Autonomy {self.autonomy}, which sets it to {value or 'null'}; "
                    "remove one of the two",
                )

    def derive_values(self) -> Mapping[str, object]:
        """Return what the autonomy mode sets."""
        return dict(self._list_set_by_mode())

    def _list_set_by_mode(self) -> list[tuple[str, str | None]]:
        return list(AUTONOMY[self.autonomy].items()) if self.autonomy is not None else []


class ChainSettings(SettingsSection):
    """The middleware chain of a turn."""

    name: str = Field(default="twelve", min_length=1, description="Name of the chain; `sophon chain` prints it.")
    factory: ImportPath | None = Field(
        default=None,
        description="Function of yours that takes the Services and returns the Pipeline; overrides Name.",
    )
    task_types: Mapping[str, str] = Field(
        default_factory=dict[str, str],
        description="Names of chains by task type, such as `code_generation`; other turns use Factory or Name.",
    )

    def find_conflicts(self) -> Iterator[tuple[str, str]]:
        """Yield each key that is no task type."""
        yield from find_unknown_task_types("TaskTypes", self.task_types)


class ToolsSettings(SettingsSection):
    """Available tools and their limits."""

    modules: tuple[str, ...] = Field(default=(), description="Importable modules; every `@tool` in them is registered.")
    disabled: tuple[str, ...] = Field(
        default=(), description="Names of tools that are not registered; an unknown name is an error."
    )
    files_root: Path = Field(
        default=Path("data/files"), description="Root folder of the file tools; they cannot access anything outside it."
    )
    command_environment: tuple[str, ...] = Field(
        default=(),
        description="Names of further environment variables that commands of system.execute receive; "
        "variables with secrets of the settings are withheld all the same.",
    )
    allow_cidrs: tuple[CidrNetwork, ...] = Field(
        default=(), description="Private networks that http.request may access nevertheless; keep them narrow."
    )
    max_parallel: WholeNumber = Field(default=8, ge=1, description="Tool calls of one turn that run concurrently.")
    max_result_characters: WholeNumber = Field(
        default=8000,
        ge=100,
        description="Characters of a tool result that reach the model; a longer result is truncated with a note.",
    )
    timeout: Duration = Field(
        default=timedelta(minutes=2), description="Timeout of a tool call, unless the tool sets its own."
    )
    max_timeout: Duration = Field(
        default=timedelta(minutes=10), description="Longest timeout of a tool call, also of a tool that sets its own."
    )
    variables: Flag = Field(
        default=False,
        description="Whether a turn can keep texts with the tool variables.set, which arguments name as {{name}}.",
    )
    refuse_placeholders: Flag = Field(
        default=True,
        description="Whether calls of tools from medium risk on, and plans with such steps, are refused if they hold a "
        "placeholder such as todo, <value>, /path/to/, your-api-key or example.com that the user did not write.",
    )

    @cached_property
    def call_seconds(self) -> tuple[float, float]:
        """The timeout of a tool call and the longest one, in seconds."""
        return self.timeout.total_seconds(), self.max_timeout.total_seconds()


class PreferencesSettings(SettingsSection):
    """How people want to be answered; each person says it themselves."""

    enabled: Flag = Field(
        default=True, description="Whether the preferences of the person are loaded with the session into each prompt."
    )


class MemorySettings(SettingsSection):
    """Long-term memory."""

    enabled: Flag = Field(default=True, description="Whether there is a long-term memory and its tools.")
    learn: Flag | None = Field(
        default=None,
        description="null: after a reply, the host stores facts that users stated about themselves if their message "
        "reads like it. true: it asks a model after each reply. false: never, and nothing before a compaction.",
    )
    flush_to: Annotated[Literal["Entries", "File"], CaseInsensitive()] = Field(
        default="Entries",
        description="Where facts go that are kept before a compaction. File: lines of MEMORY.md below a dated heading, "
        "which their person may edit; entries if there is no Directory.",
    )
    embedder: Literal["Auto", "Embeddings"] | None = Field(
        default="Auto",
        description="Embeddings: entries are found by similarity too, with the embedder of that section. Auto: so, "
        "unless that is Hashing, which adds little to words (docs/memory.md). null: by words only.",
    )
    directory: Path | None = Field(
        default=Path("data/memory"),
        description="Folder of the workspace files SOUL.md, IDENTITY.md, USER.md and MEMORY.md, whose texts are in "
        "each prompt; of other principals than the local user in a folder of their own. null: none.",
    )
    prompt_tokens: WholeNumber = Field(
        default=1000,
        ge=0,
        description="Tokens that entries which match a message may take in a prompt; 0: they are not looked up.",
    )
    file_tokens: WholeNumber = Field(
        default=4000, ge=0, description="Tokens that the workspace files may take in a prompt; the rest is left out."
    )
    daily_log: Flag = Field(
        default=False, description="Whether a prompt lists what was asked in the last two days, a line per message."
    )
