"""Checks of `sophon doctor` on chain and tools: the files folder, and what commands can reach."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from sophon.builtin_tools.command_environment import find_withheld_variables
from sophon.errors import SophonError
from sophon.services import Services
from sophon_hosting.host_chain import build_pipelines
from sophon_hosting.programs.doctor.findings import DoctorFinding, failed, ok, warning
from sophon_hosting.programs.process_hardening import COMMAND_TOOL, format_withheld_variable

COMMAND_RIGHTS = (
    f"an approved command of {COMMAND_TOOL} has the rights of this account: it can read the settings, the store, "
    "secret files and other processes of the account, also the shell that started the host; as root everything"
)
UNPROTECTED_PROCESS = "only on Linux is the environment of the host closed to other processes of its account"
COMMAND_RIGHTS_FIX = (
    "set Guards.Sandbox.Enabled to true; or run the host under an account of its own, or in a container; or put "
    "system.execute into Tools.Disabled"
)


def check_files_root(services: Services) -> DoctorFinding:
    """Check that the folder of the file tools is writable, or can be created."""
    root = services.folder / services.settings.tools.files_root
    existing = _nearest_existing(root.absolute())
    if root.exists() and not root.is_dir():
        return failed("files", f"{root} is not a folder", "choose another Tools.FilesRoot")
    if not os.access(existing, os.W_OK | os.X_OK):
        return failed("files", f"{existing} is not writable", "change its permissions, or Tools.FilesRoot")
    return ok("files", f"the file tools use {root}{'' if root.exists() else ', which will be created'}")


def check_commands(services: Services) -> Iterator[DoctorFinding]:
    """Report what commands of system.execute can reach, and variables that they do not receive although listed."""
    if COMMAND_TOOL not in services.registry:
        yield ok("commands", f"{COMMAND_TOOL} is disabled")
        return
    for name in find_withheld_variables(services.settings):
        fix = "remove the name, or give the value to commands in a variable of another name"
        yield warning("commands", format_withheld_variable(name), fix)
    if services.settings.guards.sandbox.enabled:
        return  # `check_sandbox` reports what they can reach
    yield DoctorFinding("commands", COMMAND_RIGHTS, "warning" if is_privileged() else "ok", COMMAND_RIGHTS_FIX)
    if sys.platform != "linux":
        yield warning("commands", UNPROTECTED_PROCESS, COMMAND_RIGHTS_FIX)


def is_privileged() -> bool:
    """Return whether this process runs as root, from which the memory of no process is protected."""
    return hasattr(os, "geteuid") and os.geteuid() == 0


def check_chain(services: Services) -> DoctorFinding:
    """Check that the configured chain can be composed."""
    chosen = services.settings.chain
    try:
        pipeline = build_pipelines(services).default
    except SophonError as error:
        return failed("chain", str(error), "correct Chain.Name or Chain.Factory")
    return ok("chain", f"{chosen.factory or chosen.name}: {len(pipeline)} middlewares")


def check_tools(services: Services) -> DoctorFinding:
    """List the tools; duplicate names are detected when the services are created."""
    names = ", ".join(tool.name for tool in services.registry)
    return ok("tools", f"{len(services.registry)}: {names}")


def _nearest_existing(path: Path) -> Path:
    """Return the path itself if it exists, else its nearest existing parent."""
    return next(each for each in (path, *path.parents) if each.exists())
