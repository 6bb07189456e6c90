"""Settings section of the guard Shield."""

from collections.abc import Mapping

from sophon.settings.types.field_types import Flag, ImportPath, WholeNumber
from sophon.settings.types.section import Field, SettingsSection

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
    classifier: ImportPath | None = Field(
        default=None, description="Async function that rates each call beside the heuristics, by its import path."
    )
    questions_per_hour: WholeNumber = Field(
        default=10,
        ge=0,
        description="Calls per user and hour that a person is asked about only because of Shield; more are denied.",
    )

    def derive_values(self) -> Mapping[str, object]:
        """Return the tier of the evaluator if a setting of it was given, and no tier."""
        wanted = "tier" not in self.model_fields_set and self.model_fields_set & _EVALUATOR_FIELDS
        return {"tier": 2} if wanted else {}

    @property
    def has_evaluator(self) -> bool:
        """Whether a model evaluates what the policy and the heuristics do not decide."""
        return self.tier > 1
