"""Shell commands: their syntax tree, the commands that are safe without evaluation, and the files that they write."""

from sophon.security.commands.safe_commands import is_safe_command
from sophon.security.commands.write_targets import WriteTargets, find_write_targets

__all__ = ["WriteTargets", "find_write_targets", "is_safe_command"]
