"""What must exist once in a group of processes: leader election on leases of the store, and the list of the hosts."""
