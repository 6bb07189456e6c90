"""Checks of `sophon doctor` on the live processes that share the store and a queue: each once, then the group."""

import asyncio
import socket
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import httpx

from sophon._version import __version__
from sophon.errors import StoreError
from sophon.services import Services
from sophon_hosting.leadership.group_status_text import list_hosts
from sophon_hosting.leadership.host_registry import HostDescription, list_live_hosts
from sophon_hosting.leadership.settings_fingerprint import compute_fingerprint, list_differences
from sophon_hosting.programs.doctor.findings import DoctorFinding, failed, ok, warning
from sophon_hosting.settings.queue import QueueSettings
from sophon_hosting.store.contract import host_store

READY_SECONDS = 5.0
"""Time limit of asking a process whether it is ready: longer than each of its own checks takes."""

SAME_SETTINGS_FIX = (
    "give all processes the same settings, apart from Hub, Logging, Store and Telemetry, and restart them"
)
SAME_VERSION_FIX = "complete the update: restart it with this version"
HANGING_FIX = "see its log; restart it if it hangs"
NOT_READY_FIX = "repair what it names, see its log; it goes on by itself, and a restart is needed only after damage"


class AnswerProblem(NamedTuple):
    """Why a process does not answer as it should, and what to do."""

    text: str
    fix: str


FindAnswerProblem = Callable[[str], AnswerProblem | None]
"""Returns what is wrong with the answer of the process at an address, None if nothing is."""


async def check_processes(services: Services) -> tuple[Sequence[DoctorFinding], int]:
    """Return the findings about the live processes of a group, and how many there are. The store must be open."""
    try:
        hosts = await list_live_hosts(host_store(services).leases)
        schema = (await host_store(services).maintenance.read_schema()).known
    except StoreError as error:
        return [failed("processes", str(error), "repair the store")], 1
    found = await asyncio.to_thread(
        lambda: [*judge_processes(services, hosts, schema, find_answer_problem), *check_roles(services, hosts)]
    )
    return found, len(hosts)


def judge_processes(
    services: Services, hosts: Sequence[HostDescription], schema: str, find_problem: FindAnswerProblem
) -> Iterator[DoctorFinding]:
    """Yield a finding per process: whether it answers, and what of it differs from this one.

    Only a process of this machine is asked: the address of another one may not be reachable from here.
    """
    own, machine = compute_fingerprint(services.settings), socket.gethostname()
    for host, line in zip(hosts, list_hosts(hosts), strict=True):
        problem = find_problem(host.address) if host.address and host.machine == machine else None
        if problem is not None:
            yield failed("processes", f"{line}; {problem.text}", problem.fix)
        elif host.version != __version__ or (host.schema and host.schema != schema):
            text = f"{line}; Sophon {host.version}, schema {host.schema}; here Sophon {__version__}, schema {schema}"
            yield warning("processes", text, SAME_VERSION_FIX)
        elif different := list_differences(own, host.settings):
            text = f"{line}; other settings than here: {', '.join(different)}"
            yield warning("processes", text, SAME_SETTINGS_FIX)
        else:
            yield ok("processes", f"{line}; leads {', '.join(host.duties) or 'nothing'}")


def check_roles(services: Services, hosts: Sequence[HostDescription]) -> Iterator[DoctorFinding]:
    """Warn if a group has no live process, or none that runs turns, or none that answers clients. Pure."""
    if services.settings.section(QueueSettings).backend == "Memory":
        return
    if not hosts:
        yield warning("processes", "no process of this group is running", "start `sophon serve`")
        return
    roles = [each.role for each in hosts]
    if all(role == "hub" for role in roles):
        yield warning("processes", "none of them runs turns", "start `sophon worker`")
    if all(role == "worker" for role in roles):
        yield warning("processes", "none of them answers clients", "start `sophon serve`")


def find_answer_problem(address: str) -> AnswerProblem | None:
    """Ask the host at an address whether it is ready; return why it is not, None if it is. Sends no token."""
    try:
        response = httpx.get(f"{address}/readyz", timeout=READY_SECONDS, trust_env=False)
        checks = response.json()["checks"]
    except (httpx.HTTPError, ValueError, KeyError, TypeError) as error:
        return AnswerProblem(f"it does not answer: {str(error) or type(error).__name__}", HANGING_FIX)
    if response.status_code == 200:
        return None
    wrong = [f"{name}: {result}" for name, result in checks.items() if result != "ok"]
    return AnswerProblem(f"it is not ready: {'; '.join(wrong)}", NOT_READY_FIX)
