"""Model providers: factory, discovery, defaults and the HTTP adapters."""
