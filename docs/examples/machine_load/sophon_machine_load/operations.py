"""Operation on the load of the machine."""

from typing_extensions import TypedDict

from sophon_hosting.client_api.caller import Caller
from sophon_hosting.operations.request import NoFields
from sophon_hosting.operations.table import Table
from sophon_machine_load.feature import LOAD_RECORDER
from sophon_machine_load.recorder import measure_load

table = Table("load")


class LoadReport(TypedDict):
    """The load now, and that of the last hour, oldest first."""

    now: float
    last_hour: list[float]


@table.operation("GET /api/load", needs="Operator")
async def get_load(caller: Caller, request: NoFields) -> LoadReport:
    """Return the load of the machine, now and in each minute of the last hour."""
    recorder = caller.host.feature_services.find(LOAD_RECORDER)
    return {"now": measure_load(), "last_hour": [] if recorder is None else list(recorder.samples)}
