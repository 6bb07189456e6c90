"""CapabilityRouting, and the observation of the model calls that it has routed."""
