"""Access control: token authentication of clients and the authorized operations of one user on a host."""
