"""Building blocks of the settings models: base class, field types, secrets, introspection."""
