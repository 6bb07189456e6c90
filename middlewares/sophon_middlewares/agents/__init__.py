"""Agents: who answers a turn, with which instructions, tools and sub-agents."""
