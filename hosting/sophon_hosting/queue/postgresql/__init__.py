"""Task queue in PostgreSQL: tables and functions of its own, row locks with SKIP LOCKED, LISTEN and NOTIFY."""
