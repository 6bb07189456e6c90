"""Offline model: rule-based and deterministic, without key or network; it parses requests and calls tools."""

from sophon.models.offline.model import OfflineModel as OfflineModel
