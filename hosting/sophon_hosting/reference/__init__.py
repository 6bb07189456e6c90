"""Reference: what is generated from declarations for people and programs, by `python -m sophon_hosting.reference`."""
