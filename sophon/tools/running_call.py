"""The tool call that runs in the current task: its id, and its timeout, which a tool stops while a person is asked."""

from contextvars import ContextVar

from sophon._python.lazy_dataclass import dataclass
from sophon.task_timeout import TaskTimeout


@dataclass(frozen=True, slots=True)
class RunningCall:
    """Id of a running call, and the timeout that ends it."""

    call_id: str
    timeout: TaskTimeout


RUNNING_CALL: ContextVar[RunningCall | None] = ContextVar("sophon.running_call", default=None)
"""Set while ToolExecution runs a tool; None for a tool that is called in another way."""
