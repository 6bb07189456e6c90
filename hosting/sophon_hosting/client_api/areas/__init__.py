"""What a user may do on a host, one module per area."""
