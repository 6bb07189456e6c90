"""The chain that a process runs: by its name, or by a function of the user's that the settings point to."""

import difflib

from sophon.errors import NotFound, SettingsError
from sophon.import_paths import import_object
from sophon.pipeline import Pipeline
from sophon.services import Services
from sophon_middlewares.chains import CHAINS

FACTORY = "Chain.Factory"


def chain_named(services: Services, name: str) -> Pipeline:
    """A chain of `sophon_middlewares.chains`. Raises NotFound, with the near names, and CompositionError."""
    make = CHAINS.get(name)
    if make is None:
        raise NotFound("chain", name, difflib.get_close_matches(name, CHAINS, n=3, cutoff=0.4) or sorted(CHAINS))
    return make(services)


def chain_of(services: Services) -> Pipeline:
    """The chain of the settings: `Chain.Factory` if it is given, else `Chain.Name`.

    Raises SettingsError for a factory that cannot be loaded or gives no chain, NotFound, CompositionError.
    """
    chain = services.settings.chain
    if chain.factory is None:
        return chain_named(services, chain.name)
    make = import_object(chain.factory, setting=FACTORY, folder=services.folder)
    if not callable(make):
        raise SettingsError([f"{FACTORY}: {chain.factory!r} is no function"])
    pipeline: object = make(services)
    if not isinstance(pipeline, Pipeline):
        raise SettingsError([f"{FACTORY}: {chain.factory!r} gave a {type(pipeline).__name__}, not a Pipeline"])
    return pipeline
