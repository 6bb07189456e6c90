"""Prefix of the leases that live host processes hold, which the store itself asks for."""

HOST_PREFIX = "host:"
"""Prefix of the leases that live host processes hold."""
