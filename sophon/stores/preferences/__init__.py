"""Preferences of people."""
