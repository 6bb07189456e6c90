"""Chat session with a running host (`sophon chat --url`), with one Socket.IO connection per turn."""

import asyncio
from collections.abc import Callable, Sequence
from functools import cached_property, partial

from sophon._version import __version__
from sophon.attachments import Attachment
from sophon.clock import SystemClock
from sophon.errors import NotFound
from sophon.messages import Response
from sophon.preferences import PREFERENCE_NAMES, Preferences
from sophon_hosting.cli.console.stdin_reader import StdinReader
from sophon_hosting.cli.error_reporting import write_error
from sophon_hosting.cli.remote.host_selection import connect_client
from sophon_hosting.features.attachments.operations import upload_attachment
from sophon_hosting.features.preferences.operations import get_preferences, replace_preferences
from sophon_hosting.features.preferences.results import UserPreferences
from sophon_hosting.features.tasks.operations import list_tasks
from sophon_hosting.features.tools.operations import list_skills
from sophon_hosting.operations.client import Client
from sophon_hosting.programs.chat.approval_prompt import TerminalApprovalGate
from sophon_hosting.programs.chat.chat_session import CallableSkill, Chat, ChatFrontend, TurnChoices
from sophon_hosting.programs.chat.input_loop import run_piped_lines, run_prompt_loop
from sophon_hosting.programs.chat.prompt_output import PromptOutput
from sophon_hosting.programs.chat.remote_turn import RemoteTurnClient
from sophon_hosting.programs.chat.rendering.json_renderer import JsonRenderer
from sophon_hosting.programs.chat.rendering.terminal_renderer import TerminalRenderer
from sophon_hosting.programs.chat.slash_commands import COMMANDS, run_slash_command
from sophon_hosting.programs.chat.termination_signals import handle_termination_signals


class RemoteChat(Chat):
    """Chat session that runs its turns on a host, at `url` with the rights of `token`."""

    def __init__(
        self,
        runner: asyncio.Runner,
        turn: RemoteTurnClient,
        choices: TurnChoices,
        front: ChatFrontend,
        url: str,
        token: str | None,
    ) -> None:
        super().__init__(runner, choices, front)
        self._turn, self._url, self._token = turn, url, token

    @cached_property
    def _client(self) -> Client:
        """What commands ask of the host; turns need Socket.IO only."""
        return connect_client(self._url, self._token)

    def run_turn(self, text: str) -> int:
        """See `Chat.run_turn`. Raises HostError."""
        return self._run(self._turn.run_turn(text, self.choices, [each.id for each in self.take_attached()]))

    def prepare_regeneration(self, model: str) -> Callable[[], int]:
        """See `Chat.prepare_regeneration`. Raises NotFound if nothing was written yet."""
        found = self._client.call(list_tasks, session_id=self.choices.session, limit=1)["items"]
        if not found:
            raise NotFound("message", "of yours")
        self.choices.model = model or self.choices.model
        return lambda: self._run(self._turn.regenerate(found[0]["task_id"], self.choices))

    def attach(self, name: str, content: bytes) -> None:
        """See `Chat.attach`."""
        uploaded = self._client.call(upload_attachment, name=name, file=content)
        self.attached.append(Attachment.from_json(uploaded["attachment"]))

    def list_callable_skills(self) -> Sequence[CallableSkill]:
        """See `Chat.list_callable_skills`."""
        return [
            CallableSkill(each["name"], each["argument_hint"], each["description"])
            for each in self._client.call(list_skills)["items"]
            if each["enabled"] and each["callable"]
        ]

    def get_preferences(self) -> Preferences:
        """See `Chat.get_preferences`."""
        return _parse(self._client.call(get_preferences))

    def set_preferences(self, preferences: Preferences) -> Preferences:
        """See `Chat.set_preferences`."""
        return _parse(self._client.call(replace_preferences, **preferences.to_json()))

    def _finish_turn(self, response: Response) -> None:
        super()._finish_turn(response)
        if response.finish_reason == "error" and not response.text:
            self.frontend.write_error(str(response.detail.get("message", "the turn failed")))


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
        turn = RemoteTurnClient(url, token, gate, renderer.emit, lambda line: output.write_lines([f"  {line}"]))
        front = ChatFrontend(renderer, write_error, ending, lambda: gate.ran_out_of_input)
        conversation = RemoteChat(runner, turn, choices, front, url, token)
        if message is not None:
            return conversation.run_turn(message)
        runner.run(turn.check_connection())
        handle_command = partial(run_slash_command, conversation, COMMANDS)
        if stdin.is_interactive:
            output.write_lines(
                [f"Sophon {__version__} · {url} · session {choices.session}", "/help lists the commands."]
            )
            return run_prompt_loop(conversation, stdin, output, handle_command)
        first = stdin.read_line("")
        return 0 if first is None else run_piped_lines(conversation, first, stdin, output, handle_command)


def _parse(answer: UserPreferences) -> Preferences:
    # A newer host may know more of them.
    return Preferences.from_json(
        {name: value for name, value in answer["preferences"].items() if name in PREFERENCE_NAMES}
    )
