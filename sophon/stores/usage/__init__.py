"""Budget reservations and usage totals; contract, in-memory and SQL store."""
