"""Risk of a tool of an MCP server. Its annotations are the server's own words, so they raise the risk only. Pure."""

from collections.abc import Mapping

from sophon.risk import Risk


def choose_risk(annotations: Mapping[str, object] | None) -> Risk:
    """Return the risk: medium for what is unknown, high for a `destructiveHint` that is set to anything but false."""
    hint = (annotations or {}).get("destructiveHint")
    return Risk.MEDIUM if hint is None or hint is False else Risk.HIGH
