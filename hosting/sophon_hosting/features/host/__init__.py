"""The host itself: user, chain, processes, channels, log lines."""
