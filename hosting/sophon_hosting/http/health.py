"""Whether the process lives, whether it takes work, and what it counts."""

from collections.abc import Awaitable, Callable

from aiohttp import web

from sophon_hosting.host import Host
from sophon_hosting.http.exchange import answer, host_of

Render = Callable[[], Awaitable[bytes]]

METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"


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
    checks = await checked(host_of(request))
    good = all(each == "ok" for each in checks.values())
    return answer({"status": "ready" if good else "not ready", "checks": checks}, 200 if good else 503)


async def checked(host: Host) -> dict[str, str]:
    """`ok`, or what is wrong."""
    checks = {"worker": "ok" if host.working else "no turn is begun: the host starts or stops"}
    try:
        await host.services.store.sessions.history("readyz")
        checks["store"] = "ok"
    except Exception as error:  # noqa: BLE001 - whatever it is, it is what the check is for
        checks["store"] = str(error) or type(error).__name__
    statistics = await host.queue.statistics()
    checks["queue"] = "ok" if not statistics.paused else "paused: messages are taken, and wait"
    return checks
