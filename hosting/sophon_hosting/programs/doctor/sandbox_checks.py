"""Checks of `sophon doctor` on the sandbox of commands, of skills' programs and of custom tools."""

from collections.abc import Iterator

from sophon.builtin_tools.programs import build_policy, describe_exposed, describe_missing
from sophon.builtin_tools.shell import describe_sandbox
from sophon.processes.sandbox_policy import Sandbox
from sophon.services import Services
from sophon.settings import Settings
from sophon_hosting.cli.global_options import GlobalOptions
from sophon_hosting.cli.settings_warnings import find_missing_paths
from sophon_hosting.programs.doctor.findings import DoctorFinding, failed, ok, warning

SANDBOX_FIX = (
    "install bubblewrap (apt install bubblewrap) and permit user namespaces; in a container see docs/container.md"
)
EXPOSED_FIX = "until then commands are refused"
SKILL_RIGHTS_FIX = (
    "set Guards.Sandbox.Enabled to true; or switch the skill off (sophon skills disable NAME); or run the host under "
    "an account of its own, or in a container"
)


def check_sandbox_paths(settings: Settings, options: GlobalOptions) -> Iterator[DoctorFinding]:
    """Report each path that the settings let commands read or write, and that does not exist."""
    for line in find_missing_paths(settings, options):
        yield warning("sandbox", line, "create it, or remove it from the settings")


def check_sandbox(services: Services, sandbox: Sandbox) -> Iterator[DoctorFinding]:
    """Report whether the programs that need the sandbox run in it, and whether it shows files of the host.

    `sandbox` is what `probe_sandbox` has found.
    """
    settings = services.settings
    if sandbox.problem:
        yield warning("sandbox", _describe_effect(settings, sandbox), SANDBOX_FIX)
        return
    root = (services.folder / settings.tools.files_root).absolute()
    exposed = describe_exposed(build_policy(settings, services.folder, root, owns_root=True), settings, services.folder)
    if exposed:
        yield failed("sandbox", exposed, EXPOSED_FIX)
    else:
        yield ok("sandbox", f"{sandbox.program}: {describe_sandbox(settings.guards.sandbox)}")


def check_skill_programs(services: Services) -> Iterator[DoctorFinding]:
    """Report the programs of skills that run with the rights of the host, because its sandbox is off."""
    names = _list_skill_tools(services)
    if names and not services.settings.guards.sandbox.enabled:
        text = (
            f"programs of skills ({', '.join(names)}) have the rights of this account, and below the risk of "
            f"Approval.AskFrom no call asks a person"
        )
        yield warning("skills", text, SKILL_RIGHTS_FIX)


def needs_sandbox(services: Services) -> bool:
    """Return whether programs of tools run in a sandbox here: those of custom tools always do."""
    settings = services.settings
    if settings.custom_tools.enabled:
        return True
    if not settings.guards.sandbox.enabled:
        return False
    return any(each.sandboxed for each in services.registry) or bool(_list_skill_tools(services))


def _list_skill_tools(services: Services) -> list[str]:
    if services.assistant.skills is None:
        return []
    enabled = services.assistant.skills.read().enabled.values()
    return [f"{each.name}.{tool.name}" for each in enabled if each.manifest for tool in each.manifest.tools]


def _describe_effect(settings: Settings, sandbox: Sandbox) -> str:
    missing = describe_missing(sandbox)
    if settings.guards.sandbox.enabled:
        return f"{missing}; each command and each program asks a person, and would run with the rights of the host"
    return f"{missing}; custom tools can neither be created nor called"
