"""Events of MCP servers: requests, and states."""

from sophon._python.lazy_dataclass import dataclass
from sophon.events import Event
from sophon.events.visibility import Plain
from sophon.redaction_hook import redact


@dataclass(slots=True, kw_only=True)
class McpRequested(Event):
    """A request to an MCP server ended: `tool` is the name at the server, `protocol` the version that was spoken.

    `questions` is how many questions it had for a person, `error` why it failed, "" if it did not.
    """

    is_trace = True

    server: Plain
    tool: Plain
    protocol: Plain
    duration_ms: int
    questions: int = 0
    error: str = ""


@dataclass(slots=True, kw_only=True)
class McpServerChanged(Event):
    """The state or the tools of an MCP server have changed; of no session, for operators.

    `state` is `starting`, `ready`, `failed` or `disabled`, `error` the last failure. `tools` are offered, and `changed`
    are not, because nobody has accepted their new definition.
    """

    durable = False
    in_trace = False
    audience = "operators"
    is_process_local = True

    server: Plain
    state: Plain
    error: str = ""
    tools: int = 0
    changed: int = 0

    def __post_init__(self) -> None:
        self.error = redact(self.error)
