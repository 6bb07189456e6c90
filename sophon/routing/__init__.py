"""Routing: which models a turn asks, in which order, and why."""
