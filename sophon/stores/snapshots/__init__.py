"""Snapshots of files: one hash chain per owner of the files; contract, in-memory and SQL store."""
