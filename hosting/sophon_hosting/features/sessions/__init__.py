"""Sessions: their messages, history, branches, search and export."""
