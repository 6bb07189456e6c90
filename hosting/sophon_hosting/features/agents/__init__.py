"""Agents that are defined in files, and the sub-agents of tasks."""
