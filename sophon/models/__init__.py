"""Models: the model contract, the catalog, the gateway, the provider adapters and the offline model."""
