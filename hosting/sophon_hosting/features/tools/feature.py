"""Feature declaration: tools and custom tools."""

from typing import Final

from sophon_hosting.features.feature import Feature

FEATURE: Final = Feature(
    "tools",
    page="tools.md",
    operations=["sophon_hosting.features.tools.operations", "sophon_hosting.features.tools.custom_tool_operations"],
)
