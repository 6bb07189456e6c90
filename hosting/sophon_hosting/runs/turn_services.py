"""The services of one turn on a host: those of the host, with the store as the turn sees it."""

from typing import cast

from sophon.services import Services
from sophon.stores.waiting_store import WaitingStore
from sophon_hosting.events.event_bus import EventBus
from sophon_hosting.runs.active_runs import ActiveRun
from sophon_hosting.runs.turn_store import TurnStore
from sophon_hosting.store.contract import HostStore, host_store


def services_for_turn(services: Services, active_run: ActiveRun, session_id: str, event_bus: EventBus) -> Services:
    """Return the services for the turn of a run.

    What the turn stores shares the transactions of its session. Its operations on the store wait while that is
    unavailable, as long as the run may wait.
    """
    store = cast(HostStore, TurnStore(active_run, session_id, event_bus, host_store(services), services.clock))
    active_run.store = cast(HostStore, WaitingStore(store, services.clock, active_run.may_wait_for_store))
    return services.with_parts(store=active_run.store)
