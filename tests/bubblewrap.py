"""The sandbox of this machine, for tests that need one."""

import os

import pytest

from sophon.processes.sandbox_policy import Sandbox
from sophon.processes.sandbox_probe import probe_sandbox


async def require_sandbox() -> Sandbox:
    """Return the sandbox. Without one the test is skipped; where SOPHON_CI is set only if the kernel forbids it."""
    sandbox = await probe_sandbox("bwrap")
    if "not installed" in sandbox.problem and os.environ.get("SOPHON_CI"):
        pytest.fail(sandbox.problem)
    if sandbox.problem:
        pytest.skip(sandbox.problem)
    return sandbox
