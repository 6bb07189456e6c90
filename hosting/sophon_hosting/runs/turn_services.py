"""The services of one turn on a host: those of the host, with a store that waits while it is unavailable."""

from copy import copy

from sophon.services import Services
from sophon.stores.waiting_store import WaitingStore
from sophon_hosting.runs.active_runs import ActiveRun


def services_for_turn(services: Services, active_run: ActiveRun) -> Services:
    """Return the services for the turn of a run; its operations on the store wait as long as the run may wait."""
    active_run.store = WaitingStore(services.store, services.clock, active_run.may_wait_for_store)
    view = copy(services)
    view.store = active_run.store
    return view
