"""Feature declaration: export and deletion of what is kept of a person."""

from typing import Final

from sophon_hosting.features.feature import Feature

FEATURE: Final = Feature("persons", operations=["sophon_hosting.features.persons.operations"])
