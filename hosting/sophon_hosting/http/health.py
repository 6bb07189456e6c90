"""Whether the process lives, whether it takes work, and what it counts."""

import logging
from collections.abc import Awaitable, Callable

from aiohttp import web

from sophon_hosting.host import Host
from sophon_hosting.http.exchange import answer, host_of

log = logging.getLogger("sophon")

Render = Callable[[], Awaitable[bytes]]

METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"

CHECK_SECONDS = 2.0
"""For each check; who asks usually gives up after a few."""

NO_RUN = "readyz"
"""An id that no run has."""


def routes(metrics: Render | None) -> list[web.RouteDef]:
    """`/healthz`, `/readyz`, and `/metrics` if there are any."""
    found = [web.get("/healthz", alive), web.get("/readyz", ready)]
    if metrics is not None:

        async def counted(request: web.Request) -> web.Response:
            return web.Response(body=await metrics(), headers={"Content-Type": METRICS_TYPE})

        found.append(web.get("/metrics", counted))
    return found


async def alive(request: web.Request) -> web.Response:
    """The process answers."""
    return answer({"status": "ok"})


async def ready(request: web.Request) -> web.Response:
    """200 while it takes and works off messages, else 503; each check by its name."""
    host = host_of(request)
    checks = {
        "worker": "ok" if host.working else "no turn is begun: the host starts or stops",
        "store": await _tried(host, "store", _store),
        "queue": await _tried(host, "queue", _queue),
    }
    good = all(each == "ok" for each in checks.values())
    return answer({"status": "ready" if good else "not ready", "checks": checks}, 200 if good else 503)


async def _store(host: Host) -> str:
    await host.services.store.journal.entries(NO_RUN)
    return "ok"


async def _queue(host: Host) -> str:
    paused = (await host.queue.statistics()).paused
    return "paused: messages are taken, and wait" if paused else "ok"


async def _tried(host: Host, name: str, check: Callable[[Host], Awaitable[str]]) -> str:
    """What a check says. Why it fails is for the log: anybody may ask."""
    try:
        async with host.services.clock.timeout(CHECK_SECONDS):
            return await check(host)
    except TimeoutError:
        return f"no answer within {CHECK_SECONDS:g} s"
    except Exception as error:  # noqa: BLE001 - whatever it is, it is what the check is for
        log.warning("not ready: the %s does not answer: %s", name, error)
        return "it does not answer; the log of the host says why"
