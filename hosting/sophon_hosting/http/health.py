"""Health checks `/healthz` (liveness) and `/readyz` (readiness)."""

import logging
from collections.abc import Awaitable, Callable

from aiohttp import web

from sophon.errors import StoreUnavailable
from sophon_hosting.client_api.http_json import get_host, json_response
from sophon_hosting.host import Host
from sophon_hosting.queue.errors import QueueUnavailable

log = logging.getLogger("sophon")

DEGRADED = "degraded:"
"""Beginning of the result of a check that failed without keeping the host from accepting messages."""

NOT_JOINED = "not reached since the start"
"""Result of the check of a queue that was not opened yet."""

CHECK_TIMEOUT_SECONDS = 2.0
"""Timeout of each readiness check; probes usually give up after a few seconds."""


def health_routes(instance_id: str = "") -> list[web.RouteDef]:
    """Return the routes `/healthz` and `/readyz`."""

    async def get_liveness(request: web.Request) -> web.Response:
        """Return 200: the process responds. The id says whose host it is to a command, before it sends a token."""
        return json_response({"status": "ok"} | ({"instance": instance_id} if instance_id else {}))

    return [web.get("/healthz", get_liveness), web.get("/readyz", get_readiness)]


async def get_readiness(request: web.Request) -> web.Response:
    """Return 200 while the host accepts messages and starts turns, else 503; the body has the result of each check.

    A shared queue that cannot be reached any more does not make the host unready: what it accepts is in the store, and
    no other host could do better. One that was never reached does: its address may be wrong.
    """
    host = get_host(request)
    checks = {
        "worker": "ok" if host.is_running else "not starting turns: the host is starting or stopping",
        "store": await _run_check(host, "store", _check_store),
        "queue": await _run_check(host, "queue", _check_queue),
    }
    if detached := host.list_detached_channels():  # what comes over the others is answered
        checks["channels"] = f"{DEGRADED} detached: {', '.join(detached)}"
    is_ready = all(each == "ok" or each.startswith(DEGRADED) for each in checks.values())
    return json_response({"status": "ready" if is_ready else "not ready", "checks": checks}, 200 if is_ready else 503)


async def _check_store(host: Host) -> str:
    try:
        await host.store_monitor.check()
    except StoreUnavailable as error:
        return error.reason
    return "ok"


async def _check_queue(host: Host) -> str:
    if not host.execution.has_joined_queue:
        return NOT_JOINED
    try:
        async with host.services.clock.timeout(CHECK_TIMEOUT_SECONDS / 2):
            with host.queue_health.watch():
                paused = (await host.queue.statistics()).paused
    except (QueueUnavailable, TimeoutError):  # the reason, which may name its server, is in the log
        return f"{DEGRADED} unavailable: messages are accepted, and processed when it is back"
    return "paused: messages are accepted but not processed" if paused else "ok"


async def _run_check(host: Host, name: str, check: Callable[[Host], Awaitable[str]]) -> str:
    """Run a check and return its result. The error goes to the log only, because the endpoint is public."""
    try:
        async with host.services.clock.timeout(CHECK_TIMEOUT_SECONDS):
            return await check(host)
    except TimeoutError:
        return f"no response within {CHECK_TIMEOUT_SECONDS:g} s"
    except Exception as error:  # noqa: BLE001 - any error means that the check failed
        log.warning("not ready: the %s failed: %s", name, error)
        return "failed; see the log of the host"
