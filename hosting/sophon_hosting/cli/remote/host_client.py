"""What the clients of a host share: the rows that they return, and their error."""

from collections.abc import Mapping
from typing import Any

from sophon_hosting.operations.client import HostError

JsonRow = Mapping[str, Any]
"""JSON object of the HTTP API (docs/api.md)."""

__all__ = ["HostError", "JsonRow"]
