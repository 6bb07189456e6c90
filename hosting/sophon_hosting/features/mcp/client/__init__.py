"""Client of the Model Context Protocol. The SDK is imported by its transports and `server_connection` only."""
