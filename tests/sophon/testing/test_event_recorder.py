"""The recorder of events: asked for what is no event, it does not answer that there was none."""

from typing import Any

import pytest

from sophon import Message
from sophon.events import Event, TaskFailed
from sophon.testing import EventRecorder
from tests.tables import table


@table("kind", ["TaskFailed", Message])
def test_what_is_no_class_of_events_is_refused(kind: Any) -> None:
    with pytest.raises(TypeError, match=r"write a class of sophon.events"):
        EventRecorder().of(kind)


def test_a_class_of_events_finds_those_of_its_subclasses() -> None:
    recorder = EventRecorder()
    recorder.emit(failed := TaskFailed(error={}))
    assert recorder.of(Event) == recorder.of(TaskFailed) == [failed]
