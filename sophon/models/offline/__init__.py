"""The model that ships with Sophon: no key, no network, deterministic; it reads requests by rules and uses tools."""

from sophon.models.offline.model import OfflineModel as OfflineModel
