"""Everything that is kept of a person: its export, its import, and its deletion."""
