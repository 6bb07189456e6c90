"""Tool `machine.load`."""

from sophon import Risk, tool
from sophon_machine_load.recorder import measure_load


@tool(name="machine.load", risk=Risk.NONE, idempotent=True, polls=True, group="machine", tags=("load", "busy"))
async def machine_load() -> dict[str, float]:
    """Say how busy the machine of the host is: how many processes wanted to run, on average of the last minute."""
    return {"load": measure_load()}
