"""What the tests of the middlewares share: a listener, and the smallest inner zone."""

import pytest

from sophon import Pipeline
from sophon.testing import EventRecorder
from sophon_middlewares import AgenticLoop, Approval, LlmInvoker, ParallelExecution, ToolExecution


@pytest.fixture
def events() -> EventRecorder:
    return EventRecorder()


@pytest.fixture
def inner() -> Pipeline:
    """The inner zone of the default chain."""
    return Pipeline.compose(AgenticLoop(), ParallelExecution(), Approval(), ToolExecution(), LlmInvoker())
