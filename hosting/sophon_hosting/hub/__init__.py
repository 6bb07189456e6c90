"""Socket.IO hub of a host: chat, live events, and approvals for connected clients."""
