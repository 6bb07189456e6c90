"""Trial of a tool call: what the security rules and the classifier say about it, without running it."""

import logging
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

import anyio

from sophon._python.lazy_dataclass import dataclass
from sophon.composition.part_factories import load_shield_policy
from sophon.plugins.configured_shield_classifier import load_classifier
from sophon.security.action_types import find_action_type
from sophon.security.policy import Policy
from sophon.security.rule_assessment import Assessment, assess_action, assess_finding, find_strictest
from sophon.security.shield.classifier_contract import TIMEOUT_SECONDS, Classifier, read_classification
from sophon.settings import Settings
from sophon.settings.host_files import find_protected_roots
from sophon_hosting.features.guards.results import (
    AssessmentView,
    CallAssessment,
    EnforcedAssessment,
)

log = logging.getLogger("sophon.guards")

ENFORCING_GUARDS: Mapping[str, str] = {
    "protection": "Protection",
    "policy": "Shield",
    "heuristics": "Shield",
    "classifier": "Shield",
}
"""Rule set of an assessment -> the guard that applies it to tool calls. Approval, no guard, applies the risk."""


@dataclass(frozen=True, slots=True)
class CallTrial:
    """What the rule sets say about a call. `enforced` names those that a guard applies."""

    assessments: Sequence[Assessment]
    enforced: Collection[str]

    @property
    def strictest(self) -> Assessment:
        """The assessment that decides."""
        return find_strictest(list(self.assessments))

    def to_json(self) -> CallAssessment:
        """Return JSON-serialisable data: the assessment that decides, and all of them."""
        rows: list[EnforcedAssessment] = [
            {**_assessment_to_json(each), "enforced": each.source in self.enforced} for each in self.assessments
        ]
        return {**_assessment_to_json(self.strictest), "assessments": rows}


async def try_call(
    tool: str,
    arguments: Mapping[str, Any],
    *,
    settings: Settings,
    folder: Path,
    principal: str = "",
    policy: Policy | None = None,
) -> CallTrial:
    """Judge a call without running it, by the configured classifier, too. `folder` is that of the host; paths are
    those of the principal's files.

    `policy` replaces that of the settings. Raises SettingsError for one that cannot be read.
    """
    assessments = _assess_by_rules(tool, arguments, settings, folder, principal, policy)
    if (shield := settings.guards.shield).classifier is not None:
        classifier = load_classifier(shield.classifier, shield.classifier_labels, folder)
        assessments.append(await _assess_by_classifier(classifier, find_action_type(tool), arguments))
    guards = settings.guards.model_dump(by_alias=True)
    enforced = {rules for rules, guard in ENFORCING_GUARDS.items() if guards.get(guard, {}).get("Enabled", False)}
    return CallTrial(assessments, {*enforced, "risk"})


def _assess_by_rules(
    tool: str,
    arguments: Mapping[str, Any],
    settings: Settings,
    folder: Path,
    principal: str,
    policy: Policy | None,
) -> list[Assessment]:
    files, *roots = find_protected_roots(settings, folder, principal, os.environ)
    policy = policy or load_shield_policy(settings, folder)
    return assess_action(tool, arguments, policy=policy, folder=files, roots=roots)


async def _assess_by_classifier(classifier: Classifier, action_type: str, arguments: Mapping[str, Any]) -> Assessment:
    try:
        with anyio.fail_after(TIMEOUT_SECONDS):
            return assess_finding("classifier", read_classification(await classifier(action_type, arguments)))
    except Exception:
        log.exception("the classifier failed on a call that was tried; the guard blocks such a call")
        return Assessment("classifier", "block", 1, "guard_failed")


def _assessment_to_json(assessment: Assessment) -> AssessmentView:
    return cast(AssessmentView, asdict(assessment))
