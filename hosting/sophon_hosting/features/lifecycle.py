"""Start and stop of the services of features, in the order of their phases."""

from collections.abc import Iterable
from typing import Final

from sophon_hosting.features.feature import Feature, HostProcess, Phase, Startable

BEFORE_STORE: Final = (Phase.PROCESS,)
"""Phases that start before the store is opened."""

BEFORE_CLIENTS: Final = (Phase.SETTINGS, Phase.AFTER_TURNS, Phase.WORK)
"""Phases that start when the host runs and clients cannot connect yet."""

WITH_CLIENTS: Final = (Phase.DELIVERY, Phase.TOOLS, Phase.TRIGGERS)
"""Phases that start when clients can connect and the channels have started."""

WITHOUT_SENDERS: Final = (Phase.SETTINGS, Phase.TRIGGERS)
"""Phases that stop first, while channels still receive."""

BEFORE_TURNS_END: Final = (Phase.WORK,)
"""Phases that stop when channels no longer receive, and before running turns end."""

WITHOUT_TURNS: Final = (Phase.TOOLS,)
"""Phases that stop when no turn runs."""

WITHOUT_CHANNELS: Final = (Phase.DELIVERY, Phase.AFTER_TURNS)
"""Phases that stop when the channels have delivered."""

LAST: Final = (Phase.PROCESS,)
"""Phases that stop when everything else has, also if that failed."""


class FeatureLifecycle:
    """Creates the services of features, in the order of these, and starts and stops those that have a phase."""

    def __init__(self, features: Iterable[Feature], process: HostProcess) -> None:
        self._by_phase: dict[Phase, list[Startable]] = {each: [] for each in Phase}
        for declared in (service for feature in features for service in feature.services):
            service = declared.create(process)
            if service is None:
                continue
            if declared.key is not None:
                process.host.feature_services.add(declared.key, service)
            if declared.phase is not None:
                self._by_phase[declared.phase].append(service)

    async def start(self, phases: Iterable[Phase]) -> None:
        """Start the services of the phases, in this order."""
        for service in (each for phase in phases for each in self._by_phase[phase]):
            started = service.start()
            if started is not None:
                await started

    async def stop(self, phases: Iterable[Phase]) -> None:
        """Stop the services of the phases, in this order: all of them, also those behind one that fails.

        Raises the error of one that failed; an ExceptionGroup of those of several.
        """
        failed: list[Exception] = []
        for service in (each for phase in phases for each in self._by_phase[phase]):
            try:
                await service.stop()
            except Exception as error:  # noqa: BLE001 - raised below
                failed.append(error)
        if len(failed) > 1:
            raise ExceptionGroup("several services could not be stopped", failed)
        if failed:
            raise failed[0]
