"""Approvals of a host: the gate of a turn, the decisions that are written, and questions of running calls."""
