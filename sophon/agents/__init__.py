"""Agents: definitions in files, the choice of one for a message, and the sub-agents that run."""

from sophon.agents.catalog import AgentCatalog, AgentSet
from sophon.agents.definition import AgentDefinition, parse_agent

__all__ = ["AgentCatalog", "AgentDefinition", "AgentSet", "parse_agent"]
