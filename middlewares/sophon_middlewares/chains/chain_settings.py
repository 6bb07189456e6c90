"""Settings of a host with the constants of its chain, for what reads them outside of a turn."""

from sophon.settings import Settings


def complete_for_chain(settings: Settings) -> Settings:
    """Return the settings with the constants of `Chain.Name` where the host has set none."""
    if settings.chain.name == "twelve" or settings.chain.factory is not None:
        return settings
    # Lazy: the default chain has no constants of its own.
    from sophon_middlewares.chains.published_constants import DEFAULTS
    from sophon_middlewares.stages.chain_defaults import complete_settings

    return complete_settings(settings, DEFAULTS.get(settings.chain.name, {}))
