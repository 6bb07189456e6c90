"""Schedules of a host: the scheduler, the firing of one time, the rights of owners, and the heartbeat."""
