"""Event of the load of the machine."""

from dataclasses import dataclass

from sophon.events import Event


@dataclass(slots=True, kw_only=True)
class LoadMeasured(Event):
    """The load of the machine was measured; of no session, for operators."""

    durable = False
    in_trace = False
    audience = "operators"
    is_process_local = True

    load: float
