"""Host process: worker, task queue, Socket.IO hub, HTTP API, channels and command line around the framework."""
