"""Declaration of a command of `sophon`, in the package of its feature, or of the programs: a literal, so that
`sophon --help` imports no command.
"""

from typing import NamedTuple


class Command(NamedTuple):
    """Command of `sophon`: `module` of the declaring package has a typer application named `app`.

    `place` sorts the list of commands: the order in which a new user needs them. `page` is what docs/cli.md says about
    the pages of docs/ about the command.
    """

    module: str
    help: str
    place: int = 1000
    page: str = ""
