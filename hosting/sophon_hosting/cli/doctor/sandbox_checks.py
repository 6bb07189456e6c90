"""Check of `sophon doctor` on the sandbox of commands."""

from collections.abc import Iterator

from sophon.builtin_tools.programs import build_policy, describe_exposed, describe_missing
from sophon.builtin_tools.shell import describe_sandbox
from sophon.processes.sandbox_policy import Sandbox
from sophon.services import Services
from sophon.settings import Settings
from sophon_hosting.cli.doctor.findings import DoctorFinding
from sophon_hosting.cli.global_options import GlobalOptions
from sophon_hosting.cli.settings_warnings import find_missing_paths

SANDBOX_FIX = (
    "install bubblewrap (apt install bubblewrap) and permit user namespaces; in a container see docs/container.md"
)
EXPOSED_FIX = "until then commands are refused"


def check_sandbox_paths(settings: Settings, options: GlobalOptions) -> Iterator[DoctorFinding]:
    """Report each path that the settings let commands read or write, and that does not exist."""
    for line in find_missing_paths(settings, options):
        yield DoctorFinding("sandbox", line, "warning", "create it, or remove it from the settings")


def check_sandbox(services: Services, sandbox: Sandbox) -> Iterator[DoctorFinding]:
    """Report whether commands run in the sandbox that the settings enable, and whether it shows files of the host.

    `sandbox` is what `probe_sandbox` has found.
    """
    settings = services.settings
    if sandbox.problem:
        text = f"{describe_missing(sandbox)}; each command asks a person, and would run with the rights of the host"
        yield DoctorFinding("sandbox", text, "warning", SANDBOX_FIX)
        return
    root = (services.folder / settings.tools.files_root).absolute()
    exposed = describe_exposed(build_policy(settings, services.folder, root, owns_root=True), settings, services.folder)
    if exposed:
        yield DoctorFinding("sandbox", exposed, "failed", EXPOSED_FIX)
    else:
        yield DoctorFinding("sandbox", f"{sandbox.program}: {describe_sandbox(settings.guards.sandbox)}")
