"""Settings of the running host, and the set-up of a provider."""
