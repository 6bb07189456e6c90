"""The public test kit: what Sophon's own tests are written with, and all they need."""

from sophon.testing.clock import VirtualClock
from sophon.testing.models import FunctionModel, ScriptedModel
from sophon.testing.recorder import EventRecorder
from sophon.testing.transcripts import assert_valid_transcript

__all__ = ["EventRecorder", "FunctionModel", "ScriptedModel", "VirtualClock", "assert_valid_transcript"]
