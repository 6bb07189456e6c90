"""Memory of the process: settings of the C library's allocator, and return of free memory to the system."""
