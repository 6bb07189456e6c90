"""Long polling: requests that wait until something has changed, for as long as they say."""

import asyncio
from contextlib import suppress
from typing import Annotated

from aiohttp import web

from sophon._python.value_rules import ValueRules
from sophon_hosting.client_api.authentication import Unauthorized
from sophon_hosting.client_api.client_authentication import ClientAuthenticator
from sophon_hosting.http.json_io import get_caller, get_host

CLIENTS = web.AppKey("clients", ClientAuthenticator)

CHECK_SECONDS = 1.0
"""Interval at which a waiting request looks whether log-in, client and host are still there."""

WaitSeconds = Annotated[float, ValueRules(ge=0, le=20)]
"""Query parameter: how long a request may wait. Shorter than the time after which proxies give up."""


async def wait_for_change(request: web.Request, changed: asyncio.Event, deadline: float) -> bool:
    """Return True once `changed` is set; False at the deadline, in the clock's monotonic time, or if either end goes.

    Raises Unauthorized if the log-in of the request has ended meanwhile, and StoreUnavailable if nobody can say.
    """
    host, user = get_host(request), get_caller(request).user
    clock = host.services.clock
    while not changed.is_set() and not host.is_shutting_down and (left := deadline - clock.monotonic()) > 0:
        if request.transport is None:  # the client is gone
            break
        with suppress(TimeoutError):
            async with clock.timeout(min(left, CHECK_SECONDS)):
                await changed.wait()
        if user.can_end and not await request.app[CLIENTS].is_still_valid(user):
            raise Unauthorized(token_given=True)
    return changed.is_set()
