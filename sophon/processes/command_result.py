"""Result of a program that ran to its end, or was stopped at a limit."""

from sophon._python.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class CommandResult:
    """Result of a command: `code` is the exit code, or minus the number of the signal that ended it.

    `stopped` is the sentence on the limit of a sandbox that was reached, empty without one.
    """

    code: int
    stdout: str
    stderr: str
    stopped: str = ""
