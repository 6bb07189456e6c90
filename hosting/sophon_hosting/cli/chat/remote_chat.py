"""Chat session with a running host (`sophon chat --url`), with one Socket.IO connection per turn."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, NoReturn

from sophon._version import __version__
from sophon.attachments import Attachment
from sophon.clock import SystemClock
from sophon.errors import NotFound
from sophon.messages import Response
from sophon_hosting.cli.chat.approval_prompt import TerminalApprovalGate
from sophon_hosting.cli.chat.chat_contract import ChatFrontend, TurnChoices
from sophon_hosting.cli.chat.input_loop import run_piped_lines, run_prompt_loop
from sophon_hosting.cli.chat.prompt_output import PromptOutput
from sophon_hosting.cli.chat.remote_turn import RemoteTurnClient
from sophon_hosting.cli.chat.rendering.json_renderer import JsonRenderer
from sophon_hosting.cli.chat.rendering.terminal_renderer import TerminalRenderer
from sophon_hosting.cli.chat.slash_commands import (
    ALIASES,
    QuitChat,
    RunTurn,
    describe_attached,
    describe_skill_call,
    read_attached_file,
    run_preferences_command,
)
from sophon_hosting.cli.chat.termination_signals import handle_termination_signals
from sophon_hosting.cli.console.stdin_reader import StdinReader
from sophon_hosting.cli.error_reporting import EXIT_INTERRUPTED, write_error
from sophon_hosting.rendering.control_characters import to_single_line

if TYPE_CHECKING:
    from sophon_hosting.cli.chat.chat_host import ChatHost
    from sophon_hosting.features.tools.results import SkillView

REMOTE_SLASH_COMMANDS = ("new", "session", "regenerate", "attach", "preferences", "help", "quit")
REMOTE_HELP_LINES = [
    "  /new [ID]                  start a new session",
    "  /session [ID]              show the session, or switch to another",
    "  /regenerate [MODEL]        answer the last message again, in a new branch",
    "  /attach [FILE]             send a file with the next message, or list those to be sent",
    "  /preferences [NAME VALUE]  show or set how you want to be answered",
    "  /quit                      leave the chat; the end of the input does too",
]


class RemoteChat:
    """Chat session that runs its turns on a host; Ctrl-C cancels the running turn there."""

    def __init__(
        self,
        runner: asyncio.Runner,
        turn: RemoteTurnClient,
        choices: TurnChoices,
        front: ChatFrontend,
        connect: "Callable[[], ChatHost]",
    ) -> None:
        self._runner, self._turn, self._connect = runner, turn, connect
        self.choices, self.frontend = choices, front
        self._attached: list[Attachment] = []

    def run_turn(self, text: str) -> int:
        """Run one turn, with the files that are attached, and return its exit code."""
        attached, self._attached = self._attached, []
        return self._run(self._turn.run_turn(text, self.choices, [each.id for each in attached]))

    def _run(self, turn: Coroutine[Any, Any, Response]) -> int:
        self.frontend.renderer.start_turn()
        try:
            response = self._runner.run(turn)
        except KeyboardInterrupt:
            self.frontend.renderer.finish_turn(Response(finish_reason="cancelled"), self.choices.session)
            if self.frontend.exit_request.requested:
                raise
            return EXIT_INTERRUPTED
        self.frontend.renderer.finish_turn(response, self.choices.session)
        if response.finish_reason == "error" and not response.text:
            self.frontend.write_error(str(response.detail.get("message", "the turn failed")))
        return self.frontend.choose_exit_code(response)

    def run_slash_command(self, name: str, argument: str) -> list[str]:
        """Run a slash command; those that need services in this process do not exist here.

        Raises QuitChat, RunTurn, SophonError.
        """
        name = ALIASES.get(name, name)
        if name == "quit":
            raise QuitChat
        if name not in REMOTE_SLASH_COMMANDS:
            self._call_skill(name, argument)
        if name == "help":
            return [*REMOTE_HELP_LINES, *map(_skill_line, self._connect().list_callable_skills())]
        if name == "preferences":
            return run_preferences_command(self._connect(), argument)
        if name == "regenerate":
            self._regenerate(argument)
        if name == "attach":
            return self._attach(argument)
        if name == "new":
            self.choices.session = argument or SystemClock().new_id()[:12]
        elif argument:
            self.choices.session = argument
        return [f"  session {self.choices.session}"]

    def _call_skill(self, name: str, argument: str) -> NoReturn:
        """Send a message that calls a skill of the host. Raises NotFound for a name that is no skill either."""
        if any(each["name"] == name for each in self._connect().list_callable_skills()):
            raise RunTurn(lambda: self.run_turn(f"/{name} {argument}".rstrip()))
        raise NotFound("command", f"/{name}", [f"/{each}" for each in REMOTE_SLASH_COMMANDS])

    def _attach(self, argument: str) -> list[str]:
        if argument:
            self._attached.append(self._connect().upload_file(*read_attached_file(argument)))
        return describe_attached(self._attached)

    def _regenerate(self, model: str) -> NoReturn:
        task_id = self._connect().find_last_task(self.choices.session)
        if task_id is None:
            raise NotFound("message", "of yours")
        self.choices.model = model or self.choices.model
        raise RunTurn(lambda: self._run(self._turn.regenerate(task_id, self.choices)))


def run_remote_chat(
    url: str,
    token: str | None,
    choices: TurnChoices,
    message: str | None,
    stdin: StdinReader,
    renderer: JsonRenderer | TerminalRenderer,
    output: PromptOutput,
) -> int:
    """Run a chat with a host, for one message or until the end of the input; return the exit code.

    Raises SophonError if no host answers at `url` or it rejects the token.
    """
    gate = TerminalApprovalGate(stdin, output, SystemClock())
    with handle_termination_signals() as ending, asyncio.Runner() as runner:
        turn = RemoteTurnClient(
            url,
            token,
            gate,
            renderer.emit,
            lambda line: output.write_lines([f"  {line}"]),
        )
        front = ChatFrontend(renderer, write_error, ending, lambda: gate.ran_out_of_input)
        conversation = RemoteChat(runner, turn, choices, front, lambda: _connect(url, token))
        if message is not None:
            return conversation.run_turn(message)
        runner.run(turn.check_connection())
        if stdin.is_interactive:
            output.write_lines(
                [f"Sophon {__version__} · {url} · session {choices.session}", "/help lists the commands."]
            )
            return run_prompt_loop(conversation, stdin, output, conversation.run_slash_command)
        first = stdin.read_line("")
        if first is None:
            return 0
        return run_piped_lines(conversation, first, lambda: stdin.read_line(""), output, conversation.run_slash_command)


def _skill_line(skill: "SkillView") -> str:
    usage = describe_skill_call(str(skill["name"]), str(skill["argument_hint"]))
    return f"  {usage:<27}{to_single_line(str(skill['description']))}"


def _connect(url: str, token: str | None) -> "ChatHost":
    from sophon_hosting.cli.chat.chat_host import ChatHost  # lazy: turns need Socket.IO only

    return ChatHost(url, token)
