"""Socket.IO and Engine.IO: server, transports, and packets."""
