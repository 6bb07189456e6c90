"""Socket.IO and Engine.IO: server, transports, and packets."""

from sophon_hosting.hub.hidden_modules import UNUSED_BY_SOCKETIO, hide_modules

with hide_modules(UNUSED_BY_SOCKETIO):
    import engineio as engineio  # type: ignore[import-untyped] # pyright: ignore[reportMissingTypeStubs]
    import socketio as socketio  # type: ignore[import-untyped] # pyright: ignore[reportMissingTypeStubs]
