"""Socket.IO and Engine.IO: server, transports, and packets."""

from sophon_hosting.deferred_import import (
    ENGINEIO_CLIENT_MODULES,
    SOCKETIO_MANAGER_MODULES,
    defer_modules,
    hide_modules,
)

with defer_modules(ENGINEIO_CLIENT_MODULES), hide_modules(SOCKETIO_MANAGER_MODULES):
    import engineio as engineio  # type: ignore[import-untyped] # pyright: ignore[reportMissingTypeStubs]
    import socketio as socketio  # type: ignore[import-untyped] # pyright: ignore[reportMissingTypeStubs]
