"""Checks of a finished reply: claimed actions, announced actions, outcomes of addresses."""
