"""Intents of the offline model: one file per kind of request; the order is in `sophon.models.offline.table`."""
