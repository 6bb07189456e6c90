"""Feature declaration: skills, which has commands alone."""

from typing import Final

from sophon_hosting.features.feature import Feature

FEATURE: Final = Feature("skills")
