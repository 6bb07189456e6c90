"""Checks of `sophon doctor` on this machine: Python, the terminal, the clock."""

import platform
import sys

from sophon.clock import Clock
from sophon_hosting.programs.doctor.findings import DoctorFinding, failed, ok, warning

MIN_PYTHON_VERSION = (3, 11)


def check_python() -> DoctorFinding:
    """Check the version of Python."""
    text = f"Python {platform.python_version()} in {sys.prefix}"
    if sys.version_info >= MIN_PYTHON_VERSION:
        return ok("python", text)
    return failed("python", text, "install Python 3.11 or newer, then: make clean run PYTHON=python3.12")


def check_terminal() -> DoctorFinding:
    """Check that standard output is encoded as UTF-8."""
    encoding = sys.stdout.encoding or "none"
    if encoding.lower().replace("-", "") == "utf8":
        return ok("terminal", f"encoding {encoding}")
    fix = "set LANG=C.UTF-8 or PYTHONUTF8=1; without it, unsupported characters are shown as ?"
    return warning("terminal", f"encoding {encoding}", fix)


def check_clock(clock: Clock) -> DoctorFinding:
    """Check that the date is plausible; certificates and budgets depend on it."""
    now = clock.now()
    if now.year < 2025:
        return warning("clock", f"the date is {now:%Y-%m-%d}", "set the clock of this machine")
    return ok("clock", f"{now:%Y-%m-%d %H:%M} UTC")
