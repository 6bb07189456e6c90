"""Socket.IO and Engine.IO: server, transports, and packets."""

from sophon_hosting.deferred_import import ENGINEIO_CLIENT_MODULES, defer_modules

with defer_modules(ENGINEIO_CLIENT_MODULES):
    import engineio as engineio  # type: ignore[import-untyped] # pyright: ignore[reportMissingTypeStubs]
