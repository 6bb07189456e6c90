"""TLS contexts whose trusted certificates are read when the first connection needs them, and not when they are made.

aiohttp makes two contexts when it is imported, each of which parses all certificates of the machine: 25 ms and 1 MB.
"""

import ssl
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any


class DeferredContext(ssl.SSLContext):
    """Context that trusts nothing yet; it becomes an ordinary one before its first use, with its certificates.

    An ordinary context turns into this class when its certificates are deferred, hence no constructor.
    """

    deferred: list[tuple[str, tuple[Any, ...]]]
    """Names and arguments of the methods that load the certificates."""

    def wrap_bio(self, *args: Any, **kwargs: Any) -> ssl.SSLObject:
        """Load the certificates and wrap, as asyncio does for each connection."""
        return load_certificates(self).wrap_bio(*args, **kwargs)

    def wrap_socket(self, *args: Any, **kwargs: Any) -> ssl.SSLSocket:
        """Load the certificates and wrap."""
        return load_certificates(self).wrap_socket(*args, **kwargs)

    def get_ca_certs(self, *args: Any, **kwargs: Any) -> Any:
        """Load the certificates and return them."""
        context: Any = load_certificates(self)
        return context.get_ca_certs(*args, **kwargs)

    def cert_store_stats(self) -> dict[str, int]:
        """Load the certificates and count them."""
        return load_certificates(self).cert_store_stats()


def load_certificates(context: DeferredContext) -> ssl.SSLContext:
    """Load what was deferred; the same object is an ordinary context then. Raises what loading raises, each time."""
    for name, arguments in vars(context).get("deferred", ()):
        getattr(ssl.SSLContext, name)(context, *arguments)
    context.__class__ = ssl.SSLContext  # type: ignore[assignment]
    vars(context).pop("deferred", None)
    return context


@contextmanager
def defer_certificates() -> Generator[None]:
    """Within the block, new contexts load the certificates of the machine at their first use.

    For the imports of a process that is Sophon's own: the block changes two methods of `ssl.SSLContext` meanwhile.
    """
    with _deferred("load_default_certs"), _deferred("set_default_verify_paths"):
        yield


@contextmanager
def _deferred(name: str) -> Generator[None]:
    owner: Any = ssl.SSLContext
    original, is_inherited = getattr(owner, name), name not in vars(owner)

    def defer(context: Any, *arguments: Any) -> None:
        if context.__class__ not in (ssl.SSLContext, DeferredContext):  # a class of somebody else
            original(context, *arguments)
            return
        _add_deferred(context, name, arguments)

    setattr(owner, name, defer)
    try:
        yield
    finally:
        if is_inherited:
            delattr(owner, name)
        else:
            setattr(owner, name, original)


def _add_deferred(context: Any, name: str, arguments: tuple[Any, ...]) -> None:
    deferred: list[tuple[str, tuple[Any, ...]]] = getattr(context, "deferred", [])
    context.deferred = [*deferred, (name, arguments)]
    context.__class__ = DeferredContext
