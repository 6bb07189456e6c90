"""Budget and its parts: the meter of a turn and of the host, periods, notices, and the recording of usage."""
