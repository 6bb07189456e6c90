"""Providers of models, for operators."""

import logging
from collections.abc import Sequence

from sophon.models.gateway.provider import ProviderStatistics
from sophon_hosting.client_api.user_access import UserAccess

log = logging.getLogger("sophon")


class Providers:
    """The providers as this process knows them, each operation with its permission check."""

    def __init__(self, access: UserAccess) -> None:
        self._access = access

    def reset(self, provider_id: str) -> ProviderStatistics:
        """End cool-downs of a provider, enable its rejected keys and close its circuit; return its statistics.

        Operators only; the reset is logged. Raises Forbidden, NotFound.
        """
        self._access.require_operator()
        gateway, clock = self._access.host.services.gateway, self._access.host.services.clock
        before = gateway.reset_provider(provider_id)
        cooling, disabled = (before.keys.cooling, before.keys.disabled) if before.keys is not None else (0, 0)
        log.info(
            "provider %s was reset by %s: %d keys were cooling down, %d were disabled, the circuit was %s",
            provider_id,
            self._access.user.id,
            cooling,
            disabled,
            before.circuit,
        )
        return gateway.find_provider(provider_id).statistics(clock.monotonic())

    def list(self) -> Sequence[ProviderStatistics]:
        """Return the providers as this process knows them, by priority. Operators only. Raises Forbidden."""
        self._access.require_operator()
        return self._access.host.services.gateway.statistics()
