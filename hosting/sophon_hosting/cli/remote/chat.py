"""Chat session with a running host (`sophon chat --url`), with one Socket.IO connection per turn."""

import asyncio

from sophon._version import __version__
from sophon.clock import SystemClock
from sophon.errors import NotFound
from sophon.messages import Response
from sophon_hosting.cli.arguments import GlobalOptions
from sophon_hosting.cli.asking import Desk, TerminalGate
from sophon_hosting.cli.commands import Leave
from sophon_hosting.cli.conversation import WELL_ENDED, Choices, Front
from sophon_hosting.cli.errors import FAILED, INTERRUPTED, tell
from sophon_hosting.cli.interruption import gentle_end
from sophon_hosting.cli.json_view import JsonView
from sophon_hosting.cli.lines import Lines
from sophon_hosting.cli.prompting import answer_lines, converse
from sophon_hosting.cli.remote.reach import checked, token_of
from sophon_hosting.cli.remote.turn import RemoteTurn
from sophon_hosting.cli.start import settings_of
from sophon_hosting.cli.terminal import TerminalView

COMMANDS = ("new", "session", "help", "quit")
HELP = [
    "  /new [ID]           start a new session",
    "  /session [ID]       show the session, or switch to another",
    "  /quit               leave the chat; the end of the input does too",
]


class RemoteConversation:
    """Chat session that runs its turns on a host; Ctrl-C cancels the running turn there."""

    def __init__(self, runner: asyncio.Runner, turn: RemoteTurn, choices: Choices, front: Front) -> None:
        self._runner, self._turn = runner, turn
        self.choices, self.front = choices, front

    def say(self, text: str) -> int:
        """Run one turn and return its exit code."""
        self.front.view.begin()
        try:
            response = self._runner.run(self._turn.say(text, self.choices))
        except KeyboardInterrupt:
            self.front.view.end(Response(finish_reason="cancelled"), self.choices.session)
            if self.front.ending.asked:
                raise
            return INTERRUPTED
        self.front.view.end(response, self.choices.session)
        if response.finish_reason == "error":
            self.front.tell(str(response.detail.get("message", "the turn failed")))
        return 0 if response.finish_reason in WELL_ENDED else FAILED

    def obey(self, name: str, rest: str) -> list[str]:
        """Run a slash command; those that need services in this process do not exist here. Raises Leave, NotFound."""
        if name == "quit":
            raise Leave
        if name == "help":
            return HELP
        if name not in COMMANDS:
            raise NotFound("command", f"/{name}", [f"/{each}" for each in COMMANDS])
        if name == "new":
            self.choices.session = rest or SystemClock().new_id()[:12]
        elif rest:
            self.choices.session = rest
        return [f"  session {self.choices.session}"]


def talk(
    program: GlobalOptions,
    url: str,
    choices: Choices,
    message: str | None,
    lines: Lines,
    view: JsonView | TerminalView,
    desk: Desk,
) -> int:
    """Run a chat with a host, for one message or until the end of the input; return the exit code.

    Raises SophonError if no host answers at `url` or it rejects the token.
    """
    gate = TerminalGate(lines, desk, SystemClock())
    with gentle_end() as ending, asyncio.Runner() as runner:
        turn = RemoteTurn(
            checked(url), token_of(settings_of(program)), gate, view.emit, lambda line: desk.lines([f"  {line}"])
        )
        conversation = RemoteConversation(runner, turn, choices, Front(view, tell, ending))
        if message is not None:
            return conversation.say(message)
        runner.run(turn.try_out())
        if lines.interactive:
            desk.lines([f"Sophon {__version__} · {url} · session {choices.session}", "/help lists the commands."])
            return converse(conversation, lines, desk, conversation.obey)
        first = lines.prompt("")
        if first is None:
            return 0
        return answer_lines(conversation, first, lambda: lines.prompt(""), desk, conversation.obey)
