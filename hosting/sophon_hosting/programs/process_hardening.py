"""Process hardening: on Linux, no other process of the same account may read this one's environment and memory.

A command of `system.execute` runs under the account of the host, whose secrets stand in /proc/PID/environ and
/proc/PID/mem. Both are closed by PR_SET_DUMPABLE (prctl(2), proc(5)), and core dumps with them; root can still read
them. Nothing here closes files, or other processes of the account, to a command: the
shell that started the host still has the environment that it gave to it.
"""

import ctypes
import sys

from sophon.builtin_tools.command_environment import find_withheld_variables
from sophon.services import Services

COMMAND_TOOL = "system.execute"

PR_GET_DUMPABLE, PR_SET_DUMPABLE = 3, 4
"""Operations of prctl(2)."""


def protect_process(services: Services) -> list[str]:
    """Make the process unreadable if it offers `system.execute`; return warnings for the start of the program.

    Never fails; a system without prctl stays as it is, which `sophon doctor` reports.
    """
    if COMMAND_TOOL not in services.registry:
        return []
    forbid_inspection()
    return [format_withheld_variable(name) for name in find_withheld_variables(services.settings)]


def format_withheld_variable(name: str) -> str:
    """Return the warning about a variable that commands do not receive although `Tools.CommandEnvironment` has it."""
    return f"Tools.CommandEnvironment: {name} may hold a secret of Sophon, so no command receives it"


def forbid_inspection() -> bool:
    """Make this process not dumpable; return whether it is so now. False where the system has no prctl."""
    if sys.platform != "linux":
        return False
    prctl = _load_prctl()
    return prctl is not None and prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0 and not is_inspectable()


def is_inspectable() -> bool:
    """Return whether other processes of this account may read the environment and memory of this one."""
    prctl = _load_prctl() if sys.platform == "linux" else None
    return prctl is None or prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 0


def _load_prctl() -> "ctypes._NamedFuncPointer | None":  # pyright: ignore[reportPrivateUsage] - the type of a C function
    try:
        function = ctypes.CDLL(None, use_errno=True).prctl
    except (OSError, AttributeError):  # a C library without it
        return None
    function.argtypes = [ctypes.c_int, *[ctypes.c_ulong] * 4]
    function.restype = ctypes.c_int
    return function
