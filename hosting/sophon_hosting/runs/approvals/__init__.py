"""Approvals of a host: the gate of a turn, the service that decides, and questions of running calls."""
