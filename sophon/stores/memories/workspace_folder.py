"""Key of the folder of a turn's workspace files, in a module of its own: a turn that does not search them loads it."""

from pathlib import Path
from typing import Final

from sophon.extensions import Key

WORKSPACE_FOLDER: Final[Key[Path]] = Key("memory.workspace")
"""Set where the chain has workspace files: only then do the tools of the memory search them."""
