"""Hidden modules: a package is imported as if optional libraries that nothing here uses were not installed."""

import sys
from collections.abc import Collection, Generator
from contextlib import contextmanager

UNUSED_BY_SOCKETIO = frozenset({"aio_pika", "aioredis", "kafka", "kombu", "redis", "requests", "valkey", "zmq"})
"""What python-socketio and python-engineio import for other managers and a synchronous client. Hiding it buys 0.2 s and
14 of 100 MB of a start.

A program that uses these itself imports `socketio` before Sophon.
"""


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
