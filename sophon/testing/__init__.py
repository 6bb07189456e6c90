"""Public test kit: fake models, virtual clock, event recorder, transcript assertion, synthetic channel."""

from importlib import import_module
from typing import Any

from sophon.testing.event_recorder import EventRecorder
from sophon.testing.fake_models import FunctionModel, ScriptedModel
from sophon.testing.transcript_assertion import assert_valid_transcript
from sophon.testing.virtual_clock import VirtualClock

__all__ = [
    "EventRecorder",
    "FunctionModel",
    "ScriptedModel",
    "SyntheticChannel",  # pyright: ignore[reportUnsupportedDunderAll] - see __getattr__
    "VirtualClock",
    "assert_valid_transcript",
]


def __getattr__(name: str) -> Any:
    """Load `SyntheticChannel` on first access; it belongs to a higher layer, `sophon_channels`."""
    if name == "SyntheticChannel":
        return import_module("sophon_channels.testing").SyntheticChannel
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
