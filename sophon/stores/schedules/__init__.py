"""Schedules: tasks that the host starts at set times; contract, in-memory and SQL store."""
