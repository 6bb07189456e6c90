"""The chain that a process runs: by its name, or by a function of the user's that the settings point to."""

import difflib
from collections.abc import Coroutine

from sophon.errors import NotFound, SettingsError, SophonError
from sophon.import_paths import import_object
from sophon.pipeline import Pipeline
from sophon.plugins import MIDDLEWARES, loaded, offered
from sophon.services import Services
from sophon_middlewares.chains import CHAINS

FACTORY = "Chain.Factory"


def chain_named(services: Services, name: str) -> Pipeline:
    """A chain of `sophon_middlewares.chains`, or of an installed plug-in.

    Raises NotFound, with the near names, SettingsError and CompositionError.
    """
    if name in CHAINS:
        return CHAINS[name](services)
    plugins = offered(MIDDLEWARES)
    if name in plugins:
        return _made(loaded(plugins[name]), services, plugins[name].value, "Chain.Name")
    names = sorted({*CHAINS, *plugins})
    raise NotFound("chain", name, difflib.get_close_matches(name, names, n=3, cutoff=0.4) or names)


def chain_of(services: Services) -> Pipeline:
    """The chain of the settings: `Chain.Factory` if it is given, else `Chain.Name`.

    Raises SettingsError for a factory that cannot be loaded, fails or gives no chain, NotFound, CompositionError.
    """
    chain = services.settings.chain
    if chain.factory is None:
        return chain_named(services, chain.name)
    make = import_object(chain.factory, setting=FACTORY, folder=services.folder)
    return _made(make, services, chain.factory, FACTORY)


def _made(make: object, services: Services, path: str, setting: str) -> Pipeline:
    if not callable(make):
        raise SettingsError([f"{setting}: {path!r} is no function"])
    try:
        pipeline: object = make(services)
    except SophonError:  # says itself what is wrong, as a chain that cannot work does
        raise
    except Exception as error:
        raise SettingsError([f"{setting}: {path!r} failed: {type(error).__name__}: {error}"]) from error
    if isinstance(pipeline, Coroutine):
        pipeline.close()
        raise SettingsError([f"{setting}: {path!r} is async; it gives the Pipeline at once"])
    if not isinstance(pipeline, Pipeline):
        raise SettingsError([f"{setting}: {path!r} gave a {type(pipeline).__name__}, not a Pipeline"])
    return pipeline
