"""Rules of guard Authorization: access control, permission and capability levels, patterns of grants, API tokens."""
