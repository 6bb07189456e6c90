"""The middleware chain: composition, order constraints and the `explain()` table."""
