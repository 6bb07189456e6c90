"""Schedules: messages that the host sends at given times."""
