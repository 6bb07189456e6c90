"""Checks of `sophon doctor` that are the start of `sophon serve` itself, up to the point where it opens anything."""

from collections.abc import Mapping

from sophon.errors import SettingsError, SophonError
from sophon.services import Services
from sophon.settings import Settings
from sophon_hosting.cli.remote.host_probe import probe_host
from sophon_hosting.cli.remote.host_selection import local_host_url
from sophon_hosting.host_server import AddressUnavailable, HostServer, bind_address
from sophon_hosting.instance_id import compute_instance_id
from sophon_hosting.programs.doctor.findings import DoctorFinding, failed, ok
from sophon_hosting.programs.doctor.group_checks import find_answer_problem
from sophon_hosting.settings.hub import HubSettings

START_FIX = "`sophon serve` refuses to start until this is corrected"


def check_start(services: Services, environment: Mapping[str, str]) -> list[DoctorFinding]:
    """Create the server as `sophon serve` does; one finding per reason for which it would refuse to start."""
    try:
        HostServer(services, environment)
    except SettingsError as error:
        return [failed("serve", problem, START_FIX) for problem in error.problems]
    except SophonError as error:
        return [failed("serve", str(error), START_FIX)]
    return [ok("serve", "users, channels and chain allow a start")]


def check_address(services: Services, settings: Settings, environment: Mapping[str, str]) -> DoctorFinding:
    """Check that `sophon serve` could listen on its address, unless a host of these settings does so already."""
    hub, address = settings.section(HubSettings), local_host_url(settings)
    try:
        bind_address(hub.host, hub.port).socket.close()
    except AddressUnavailable as error:
        url = settings.store.url.resolve(environment)
        if url is not None and hub.port and probe_host(address) == compute_instance_id(url, services.folder):
            if problem := find_answer_problem(address):
                text = f"a host of these settings runs at {address}; {problem.text}"
                return failed("address", text, problem.fix)
            return ok("address", f"a host of these settings runs at {address}, and is ready")
        return failed("address", str(error), START_FIX)
    return ok("address", f"{hub.host}:{hub.port} is free")
