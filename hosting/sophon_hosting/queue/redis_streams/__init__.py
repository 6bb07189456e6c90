"""Task queue in Redis: a stream of permits, lanes and owners in Lua scripts, each operation one round trip."""
