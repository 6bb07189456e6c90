"""What operators see of a host: metrics, logs, traces."""
