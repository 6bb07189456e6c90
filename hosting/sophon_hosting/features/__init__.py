"""Features of the host, a package each; its `results` are the JSON that its operations return."""
