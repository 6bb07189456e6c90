"""Preferences of a person for answers."""
