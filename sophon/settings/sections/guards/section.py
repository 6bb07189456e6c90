"""Settings section of the guards: middlewares around the tool call that can block it or ask a person."""

from sophon.settings.sections.guards.audit import AuditSettings
from sophon.settings.sections.guards.authorization import AuthorizationSettings
from sophon.settings.sections.guards.information_flow import InformationFlowSettings
from sophon.settings.sections.guards.integrity import IntegritySettings
from sophon.settings.sections.guards.intent_gate import IntentGateSettings
from sophon.settings.sections.guards.protection import ProtectionSettings
from sophon.settings.sections.guards.rate_limit import RateLimitSettings
from sophon.settings.sections.guards.redaction import RedactionSettings
from sophon.settings.sections.guards.sandbox import SandboxSettings
from sophon.settings.sections.guards.shield import ShieldSettings
from sophon.settings.sections.guards.simulation import SimulationSettings
from sophon.settings.sections.guards.snapshot import SnapshotSettings
from sophon.settings.types.section import Field, SettingsSection


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
