"""Leases: names that one holder at a time has, until it releases them or stops renewing them.

What only one process of several may do, as firing schedules, is done by the holder of a lease of that name. A host
process holds `host:<id>` as long as it lives, so that others can count the hosts.
"""

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from typing import Any

from sophon._python.lazy_dataclass import dataclass, new_dict
from sophon.stores.host_lease_prefix import HOST_PREFIX as HOST_PREFIX


@dataclass(frozen=True, slots=True)
class Lease:
    """A name that `holder` has until `until`, in UTC.

    `token` is greater than that of every earlier holder of the name: a fence for what outlives the lease. `schema` is
    the version of the store's schema that the holder's process uses, "" for a store without versions. `details` is what
    the holder stated of itself when it acquired or last renewed the lease, as JSON.
    """

    name: str
    holder: str
    until: datetime
    token: int
    schema: str = ""
    details: Mapping[str, Any] = field(default_factory=new_dict)


def check_duration(seconds: float) -> None:
    """Raise ValueError for a negative duration of a lease."""
    if seconds < 0:
        raise ValueError(f"a lease cannot last {seconds} seconds; give 0 or more")
