"""Events of a host: numbering per session, storage, ordered delivery to listeners, and replay."""
