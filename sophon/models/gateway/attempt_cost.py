"""Whether a failed attempt has cost something: what the provider was sent, and what it has begun to answer.

A provider bills the input once it has begun to work, and nobody tells us when that was. An attempt that was sent and
timed out, or whose connection broke, therefore counts as begun: a limit that is reached too early can be raised, the
money of eighty requests that were never counted is gone. An attempt that was not sent (no connection), or that the
provider answered with an HTTP error, is billed by none.
"""

import asyncio

from sophon.errors import ModelError, ModelTimeout
from sophon.models.model import AttemptOutput

_NOT_SENT = frozenset(
    {"ConnectError", "ConnectTimeout", "PoolTimeout", "ClientConnectorError", "ConnectionTimeoutError", "gaierror"}
    | {"ConnectionRefusedError", "LocalProtocolError", "UnsupportedProtocol", "InvalidURL", "ProxyError"}
    | {"ClientHttpProxyError"}
)
"""Types of errors before a request is sent (httpx, aiohttp, the standard library), compared by name."""

_CUT = frozenset(
    {"ReadError", "WriteError", "CloseError", "RemoteProtocolError", "ServerDisconnectedError", "ClientPayloadError"}
    | {"ConnectionResetError", "ConnectionAbortedError", "BrokenPipeError", "IncompleteRead", "IncompleteReadError"}
    | {"ClientOSError"}
)
"""Types of errors of a connection that broke after the request was sent."""

_MAX_CAUSES = 10


def has_cost(failure: Exception, output: AttemptOutput | None, produced: str) -> bool:
    """Return whether a failed attempt is charged: its input at least, and what it produced."""
    if produced or (output is not None and (output.usage is not None or output.pieces)):
        return True
    if not isinstance(failure, ModelError) or failure.status is not None:
        return False
    names = _error_names(failure)
    if names & _NOT_SENT:
        return False
    has_begun = output is not None and output.has_begun
    return has_begun or isinstance(failure, ModelTimeout) or bool(names & _CUT)


def _error_names(error: BaseException) -> set[str]:
    """Return the type names of an error and its causes."""
    names: set[str] = set()
    current: BaseException | None = error
    for _ in range(_MAX_CAUSES):
        if current is None or isinstance(current, asyncio.CancelledError):
            break
        names |= {each.__name__ for each in type(current).__mro__}
        current = current.__cause__ or current.__context__
    return names
