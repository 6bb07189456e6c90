"""Lazy import of another package's dependencies: modules that are loaded when an attribute is first read."""

import importlib
import sys
from collections.abc import Collection, Generator
from contextlib import contextmanager
from importlib.util import find_spec
from types import ModuleType

ENGINEIO_CLIENT_MODULES = frozenset({"requests"})
"""What python-engineio imports for its synchronous client alone: 4 MB, and a tenth of the start of a host."""

SOCKETIO_MANAGER_MODULES = frozenset({"aio_pika", "aioredis", "kafka", "kombu", "redis", "valkey", "zmq"})
"""What python-socketio imports, where it is installed, for managers that Sophon does not use: 0.2 s and 15 MB.

A program that uses these managers itself imports `socketio` before Sophon.
"""


class DeferredModule(ModuleType):
    """Module that is imported when an attribute of it is first read."""

    def __getattr__(self, name: str) -> object:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(importlib.import_module(self.__name__), name)


@contextmanager
def hide_modules(names: Collection[str]) -> Generator[None]:
    """Within the block, `import` of one of `names` fails as if it was not installed, unless it is imported already."""
    hidden = [name for name in names if name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type] # None: not to be imported
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]


@contextmanager
def defer_modules(names: Collection[str]) -> Generator[None]:
    """Within the block, `import` of one of `names` gives a DeferredModule; afterwards it is an ordinary import again.

    A module that is imported already, and one that is not installed, is left alone.
    """
    deferred = {name: DeferredModule(name) for name in names if name not in sys.modules and find_spec(name)}
    sys.modules.update(deferred)
    try:
        yield
    finally:
        for name, module in deferred.items():
            if sys.modules.get(name) is module:
                del sys.modules[name]
