"""Settings sections of the guards: middlewares around the tool call that can block it or ask a person."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal

from sophon.settings.sections.authorization import AuthorizationSettings
from sophon.settings.sections.rate_limits import RateLimitSettings
from sophon.settings.types.field_types import CaseInsensitive, ClassifierReference, Flag, WholeNumber
from sophon.settings.types.secret_references import Secret
from sophon.settings.types.section import Field, SettingsSection


class AuditSettings(SettingsSection):
    """Log of what became of each tool call."""

    enabled: Flag = Field(
        default=True,
        description="Whether each tool call, the verdicts on it and its outcome are kept in the audit log.",
    )
    signing_key: Secret | None = Field(
        default=None,
        description="Key of 32 bytes or more by which a host signs the head of the log every minute.",
    )
    head_file: Path = Field(
        default=Path("data/audit-head.json"), description="Signed head of the audit log, from the folder of the host."
    )


class RedactionSettings(SettingsSection):
    """Replacement of secrets in what tools return and models write."""

    enabled: Flag = Field(
        default=True,
        description="Whether secrets in the results of tools and in the texts of models are replaced by a marker.",
    )


LabelName = Annotated[Literal["Public", "Internal", "Confidential", "Restricted", "Critical"], CaseInsensitive()]
SinkName = Annotated[
    Literal["External", "Exec", "Memory", "WorkspaceWrite", "WorkspaceRead", "None"], CaseInsensitive()
]


class InformationFlowSettings(SettingsSection):
    """Labels of data, and where labelled data may go."""

    enabled: Flag = Field(default=True, description="Whether the data that a session reads is labelled and followed.")
    mode: Annotated[Literal["Audit", "Enforce"], CaseInsensitive()] = Field(
        default="Audit",
        description="Audit: record what would be blocked or asked about. Enforce: block it, or ask a person.",
    )
    sources: dict[str, LabelName] = Field(
        default={},
        description="Labels of your own files: glob of paths -> label. The first that matches decides, before the "
        "rules that come with Sophon.",
    )
    sinks: dict[str, SinkName] = Field(
        default={},
        description="Where the arguments of your own tools go: glob of tool names -> sink; None for nowhere.",
    )

    def find_conflicts(self) -> Iterator[tuple[str, str]]:
        """Yield a glob that cannot be read."""
        if self.sources:
            from sophon.security.policy.path_globs import GlobError, compile_glob  # lazy: RE2 is heavy

            for glob in self.sources:
                try:
                    compile_glob(glob, widens=True)
                except GlobError as error:
                    yield "Sources", str(error)


class IntentGateSettings(SettingsSection):
    """Whether the words of a person ask for a call that has effects."""

    enabled: Flag = Field(
        default=False, description="Whether a call with effects needs words of the person that ask for it."
    )
    on_doubt: Annotated[Literal["Ask", "Refuse"], CaseInsensitive()] = Field(
        default="Ask",
        description="What becomes of a call that nobody asked for: a person is asked, or it is refused. One that may "
        "have been asked for in words that no rule understands is asked about in any case.",
    )
    excluded: tuple[str, ...] = Field(
        default=("memory.write", "variables.set", "chat.*", "load_*", "datetime.*"),
        description="Names of tools, with `*`, whose calls are not judged.",
    )


class IntegritySettings(SettingsSection):
    """Whether a call that runs is the call that was judged."""

    enabled: Flag = Field(
        default=True, description="Whether a call that was changed after the guards judged it is blocked."
    )


class ProtectionSettings(SettingsSection):
    """Protection of the files that define and control the agent."""

    enabled: Flag = Field(
        default=True, description="Whether tools are kept from the host's own files and the agent's identity files."
    )


_EVALUATOR_FIELDS = frozenset({"evaluator_model", "daily_budget", "fail_closed"})
"""Settings of the evaluator; whoever writes one of them wants it."""


class ShieldSettings(SettingsSection):
    """Judgement of each tool call by a policy, heuristics, and if configured a model."""

    enabled: Flag = Field(
        default=True, description="Whether tool calls are judged by the policy and the heuristics before they run."
    )
    policy_file: str | None = Field(
        default=None, min_length=1, description="YAML file with the policy; null is the policy that Sophon ships."
    )
    tier: WholeNumber = Field(
        default=1,
        ge=1,
        le=2,
        description="Highest tier that judges without a person: 1 is policy and heuristics, 2 adds a model as "
        "evaluator. 2 if EvaluatorModel, DailyBudget or FailClosed is written.",
    )
    evaluator_model: str | None = Field(
        default=None, min_length=1, description="Model that evaluates in tier 2; null is the model of the turn."
    )
    daily_budget: WholeNumber = Field(
        default=100, ge=0, description="Evaluations per day (of Budget.TimeZone), over all users."
    )
    fail_closed: Flag = Field(
        default=True,
        description="Whether a call is blocked if the evaluator fails, is late, or its budget is spent; if false a "
        "person is asked.",
    )
    classifier: ClassifierReference | None = Field(
        default=None,
        description="What rates each call beside the heuristics: an async function by its import path, a "
        "text classifier by the path of its .onnx file, or `shipped`, the small one that comes with Sophon.",
    )
    classifier_labels: tuple[str, ...] = Field(
        default=(),
        description="Labels of an .onnx classifier that stand for an attack; empty for those that their names say, "
        "as `INJECTION`, `JAILBREAK` or `MALICIOUS`.",
    )

    def derive_values(self) -> Mapping[str, object]:
        """Return the tier of the evaluator if a setting of it was given, and no tier."""
        wanted = "tier" not in self.model_fields_set and self.model_fields_set & _EVALUATOR_FIELDS
        return {"tier": 2} if wanted else {}

    @cached_property
    def has_evaluator(self) -> bool:
        """Whether a model evaluates what the policy and the heuristics do not decide."""
        return self.tier > 1


class SnapshotSettings(SettingsSection):
    """Copies of files before tool calls change them."""

    enabled: Flag = Field(
        default=True, description="Whether a file is copied before a tool call writes, moves or deletes it."
    )
    max_file_bytes: WholeNumber = Field(
        default=10_000_000,
        ge=1,
        description="Largest file that is copied; a person decides on a call that changes a larger one.",
    )
    days: WholeNumber | None = Field(
        default=30, ge=1, description="Days that snapshots are kept; null: until there are newer ones."
    )


class SandboxSettings(SettingsSection):
    """Sandbox for commands: bubblewrap, on Linux. The limits hold for all processes of a command together."""

    enabled: Flag = Field(
        default=False,
        description="Whether commands run in a sandbox; where there is none, each of them asks a person.",
    )
    program: str = Field(default="bwrap", min_length=1, description="Name or path of bubblewrap.")
    memory_mb: WholeNumber = Field(
        default=512, ge=16, description="Memory of a command in MB, and as much again for files in its /tmp."
    )
    processes: WholeNumber = Field(default=64, ge=1, le=4096, description="Processes and threads of a command.")
    seconds: WholeNumber = Field(
        default=60, ge=1, description="Seconds until a command is stopped; the timeout of its tool holds too."
    )
    files_mb: WholeNumber = Field(
        default=1024,
        ge=1,
        description="Size in MB of a person's files folder, at which a command that writes to it is stopped.",
    )
    network: Flag = Field(
        default=False,
        description="Whether commands use the network of the host, its loopback and private networks included.",
    )
    readable: tuple[Path, ...] = Field(
        default=(),
        description="Further files and folders that commands may read, besides the system and their working folder.",
    )
    writable: tuple[Path, ...] = Field(
        default=(), description="Further folders that commands may write to; those of all users write to the same ones."
    )


class SimulationSettings(SettingsSection):
    """Advice of a model on calls of restricted and privileged level."""

    enabled: Flag = Field(
        default=False,
        description="Whether a model is asked what a restricted or privileged call will do; the answer is appended to "
        "the result as advice.",
    )


class GuardsSettings(SettingsSection):
    """Guards around tool calls, in whichever chain the host runs."""

    audit: AuditSettings = Field(
        default_factory=AuditSettings.defaults, description="Log of what became of each tool call."
    )

    redaction: RedactionSettings = Field(
        default_factory=RedactionSettings.defaults, description="Replacement of secrets in what leaves a turn."
    )

    rate_limit: RateLimitSettings = Field(
        default_factory=RateLimitSettings.defaults,
        description="Limits on how often tools are used and messages are sent.",
    )

    authorization: AuthorizationSettings = Field(
        default_factory=AuthorizationSettings.defaults,
        description="Whether people may use the tools that their turns call.",
    )

    information_flow: InformationFlowSettings = Field(
        default_factory=InformationFlowSettings.defaults, description="Labels of data, and where labelled data may go."
    )

    intent_gate: IntentGateSettings = Field(
        default_factory=IntentGateSettings.defaults,
        description="Whether the words of a person ask for a call that has effects.",
    )

    integrity: IntegritySettings = Field(
        default_factory=IntegritySettings.defaults, description="Whether a call that runs is the call that was judged."
    )

    protection: ProtectionSettings = Field(
        default_factory=ProtectionSettings.defaults,
        description="Protection of the files that define and control the agent.",
    )

    shield: ShieldSettings = Field(
        default_factory=ShieldSettings.defaults,
        description="Judgement of each tool call by a policy, heuristics, and if configured a model.",
    )

    snapshot: SnapshotSettings = Field(
        default_factory=SnapshotSettings.defaults, description="Copies of files before tool calls change them."
    )

    sandbox: SandboxSettings = Field(
        default_factory=SandboxSettings.defaults, description="Sandbox for commands, on Linux."
    )

    simulation: SimulationSettings = Field(
        default_factory=SimulationSettings.defaults, description="Advice of a model on what a risky call will do."
    )
