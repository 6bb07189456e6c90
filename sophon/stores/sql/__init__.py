"""SQL infrastructure of the stores: engine, writer, schema, column types, dialects, migrations."""
