"""Trace of a turn as a caller sees it."""

from dataclasses import replace

from sophon.traces.trace import Trace
from sophon_hosting.client_api.caller import Caller


def to_client_trace(caller: Caller, trace: Trace) -> Trace:
    """Return a trace as the caller sees it, with the session id that they know."""
    if caller.view is not None:
        trace = caller.view.trace(trace, is_own=trace.principal == caller.user.id)
    return replace(trace, session_id=caller.sessions.to_client_id(trace.session_id))
