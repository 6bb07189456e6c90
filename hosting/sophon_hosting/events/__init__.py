"""What happens in a host, numbered, kept, and told in order."""
