"""Migration of data that an earlier version stored without namespaces of principals; `sophon migrate` runs it."""
