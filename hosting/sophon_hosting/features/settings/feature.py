"""Feature declaration: settings that change while a host runs: operations, changes, and those of other processes."""

from typing import TYPE_CHECKING, Final

from sophon_hosting.feature_services import ServiceKey
from sophon_hosting.features.feature import Feature, FeatureService, HostProcess, Phase
from sophon_hosting.store.contract import host_store

if TYPE_CHECKING:
    from sophon_hosting.features.settings.live_settings import LiveSettings
    from sophon_hosting.features.settings.provider_setup import ProviderSetup
    from sophon_hosting.features.settings.shared_settings import SharedSettings

LIVE_SETTINGS: Final = ServiceKey["LiveSettings"]("settings.live")
PROVIDER_SETUP: Final = ServiceKey["ProviderSetup"]("settings.provider_setup")


def _create_live_settings(process: HostProcess) -> "LiveSettings | None":
    if process.loaded is None:
        return None
    from sophon_hosting.features.settings.live_settings import LiveSettings  # lazy: only where there are settings files
    from sophon_hosting.features.settings.shared_settings import share_change

    host, off = process.host, process.host.off_the_record
    views = [host.services] if off is None else [host.services, off.services]
    if not host.membership.is_shared:
        return LiveSettings(views, process.loaded)
    share = share_change(host_store(host.services).channel_state, host.fanout)
    return LiveSettings(views, process.loaded, on_applied=[host.membership.note_settings], share=share)


def _create_provider_setup(process: HostProcess) -> "ProviderSetup | None":
    live = process.host.feature_services.find(LIVE_SETTINGS)
    if live is None or not process.serves_clients:
        return None
    from sophon_hosting.features.settings.provider_setup import ProviderSetup  # lazy: see above

    return ProviderSetup(live, process.services, process.environment, process.on_providers_replaced)


def _create_shared_settings(process: HostProcess) -> "SharedSettings | None":
    live, services = process.host.feature_services.find(LIVE_SETTINGS), process.services
    if live is None or not process.host.membership.is_shared:
        return None
    from sophon_hosting.features.settings.shared_settings import SharedSettings  # lazy: only in a group of processes

    return SharedSettings(live, host_store(services).channel_state, process.host.fanout, services.clock)


FEATURE: Final = Feature(
    "settings",
    page="settings.md#changes-while-the-host-runs",
    operations=["sophon_hosting.features.settings.operations", "sophon_hosting.features.settings.setup_operations"],
    services=[
        FeatureService(_create_live_settings, key=LIVE_SETTINGS),
        FeatureService(_create_provider_setup, key=PROVIDER_SETUP),
        FeatureService(_create_shared_settings, Phase.SETTINGS),
    ],
)
