"""Check of `sophon doctor` on the live processes that share the store and a queue."""

from collections.abc import Iterator, Sequence

from sophon.errors import StoreError
from sophon.services import Services
from sophon_hosting.cli.doctor.findings import DoctorFinding
from sophon_hosting.leadership.fingerprint import compute_fingerprint, list_differences
from sophon_hosting.leadership.group_lines import list_hosts
from sophon_hosting.leadership.host_registry import HostDescription, list_live_hosts

SAME_SETTINGS_FIX = (
    "give all processes the same settings, apart from Hub, Logging, Store and Telemetry, and restart them"
)


async def check_processes(services: Services) -> Sequence[DoctorFinding]:
    """Report each live process of a group, and those whose settings differ from these. The store must be open."""
    try:
        hosts = await list_live_hosts(services.store.leases)
    except StoreError as error:
        return [DoctorFinding("processes", str(error), "failed", "repair the store")]
    return list(_report(services, hosts))


def _report(services: Services, hosts: Sequence[HostDescription]) -> Iterator[DoctorFinding]:
    own = compute_fingerprint(services.settings)
    for host, line in zip(hosts, list_hosts(hosts), strict=True):
        different = list_differences(own, host.settings)
        if different:
            text = f"{line}; other settings than here: {', '.join(different)}"
            yield DoctorFinding("processes", text, "warning", SAME_SETTINGS_FIX)
        else:
            yield DoctorFinding("processes", f"{line}; leads {', '.join(host.duties) or 'nothing'}")
