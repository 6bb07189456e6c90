"""Decisions before a model is asked: what kind of work a message is, and whether a rule answers it. Pure rules."""

from sophon.decisions.fast_paths.fast_paths import FastPath, fast_path
from sophon.decisions.low_intent import is_low_intent
from sophon.decisions.work_strategy import Decided, Strategy, decide

__all__ = ["Decided", "FastPath", "Strategy", "decide", "fast_path", "is_low_intent"]
