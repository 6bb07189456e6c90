"""The verbs against a host that runs, and against the store that it left; the chat with a host."""

import asyncio
import json
import signal
import sys
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from sophon_hosting.cli.app import run_command_line
from tests.programs import BRAIN

Sophon = Callable[..., tuple[int, str, str]]


@pytest.fixture
def sophon(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Sophon:
    """A command in this process; the program fixture's folder is where it stands."""

    def command(here, *arguments: str) -> tuple[int, str, str]:
        monkeypatch.chdir(here.folder)
        capsys.readouterr()
        code = run_command_line(arguments)
        out, errors = capsys.readouterr()
        return code, out, errors

    return command


def sent(host, content: str, session: str = "s") -> str:
    answer = httpx.post(f"{host.url}/api/tasks", json={"content": content, "session_id": session}, trust_env=False)
    return answer.json()["task_id"]


def reached(host, task: str, status: str) -> None:
    while host.get(f"/api/tasks/{task}")["status"] != status:
        pass


def test_tasks_approvals_and_traces_of_a_running_host(program, sophon) -> None:
    here = program()
    host = here.serve()
    at = ("--url", host.url)
    task = sent(host, "pay Bob")
    reached(host, task, "suspended")
    code, out, _ = sophon(here, "approvals", "list", *at)
    assert code == 0
    assert "Run pay" in out
    assert "to: Bob" in out
    approval = json.loads(sophon(here, "approvals", "list", "--json", *at)[1])[0]["approval_id"]
    code, out, _ = sophon(here, "approvals", "approve", approval[4:12], "--arguments", '{"to": "Eve"}', *at)
    assert (code, out) == (0, "pay is approved with edited arguments\n")
    reached(host, task, "completed")
    assert here.paid() == ["Eve"]
    code, _, errors = sophon(here, "approvals", "reject", approval, *at)
    assert code == 1
    assert "local decided this before" in errors
    assert task in sophon(here, "tasks", "list", "--status", "completed", *at)[1]
    assert "PAID EVE" in sophon(here, "tasks", "show", task, *at)[1]
    trace = sophon(here, "trace", task, *at)[1]
    for line in (
        "queued",
        "started",
        "approval pay (high risk)",
        "decided  edit by local",
        "pay: completed",
        "ended    stop",
    ):
        assert line in trace
    assert trace.index("approval") < trace.index("decided") < trace.index("completed,")
    events = json.loads(sophon(here, "trace", task, "--json", *at)[1])["events"]
    seqs = [each["data"]["seq"] for each in events if "seq" in each["data"]]  # traces have none
    assert seqs == list(range(1, len(seqs) + 1))


def test_a_running_task_is_stopped_and_the_queue_switched(program, sophon) -> None:
    here = program()
    host = here.serve()
    at = ("--url", host.url)
    task = sent(host, "wait")
    reached(host, task, "running")
    assert sophon(here, "tasks", "cancel", task, *at) == (0, f"{task} is cancelled\n", "")
    assert "paused                  yes" in sophon(here, "queue", "pause", *at)[1]
    assert json.loads(sophon(here, "queue", "status", "--json", *at)[1])["paused"] is True
    assert "drained                 yes" in sophon(here, "queue", "drain", *at)[1]
    assert "paused                  no" in sophon(here, "queue", "resume", *at)[1]
    assert sophon(here, "queue", "dead", *at)[1] == "There are no dead letters.\n"
    [provider] = json.loads(sophon(here, "providers", "list", "--json", *at)[1])
    assert provider["provider"] in sophon(here, "providers", "list", *at)[1]
    assert "is called again" in sophon(here, "providers", "reset", provider["provider"], *at)[1]
    assert "there is no provider 'nothing'" in sophon(here, "providers", "reset", "nothing", *at)[2]
    code, _, errors = sophon(here, "queue", "retry", "nothing", *at)
    assert code == 1
    assert "no dead letter 'nothing'" in errors


def test_without_a_host_the_store_tells_and_takes_what_the_next_start_obeys(program, sophon) -> None:
    here = program(Hub={"Port": 1})
    host = here.serve()
    first, second = sent(host, "pay Bob"), sent(host, "pay Eve", "t")
    for task in (first, second):
        reached(host, task, "suspended")
    host.end(signal.SIGTERM)

    code, out, errors = sophon(here, "tasks", "list", "--json")
    assert code == 0
    assert {row["task_id"]: row["status"] for row in json.loads(out)} == {first: "suspended", second: "suspended"}
    assert "no host runs at http://127.0.0.1:1; using the store" in errors
    approvals = {
        row["task_id"]: row["approval_id"] for row in json.loads(sophon(here, "approvals", "list", "--json")[1])
    }
    code, out, errors = sophon(here, "approvals", "approve", approvals[first])
    assert (code, out) == (0, "pay is approved\n")
    assert "takes effect when the host starts" in errors
    assert "has already decided this" in sophon(here, "approvals", "reject", approvals[first])[2]
    assert sophon(here, "tasks", "cancel", second)[1] == f"{second} is cancelling\n"
    assert "held lanes              2" in sophon(here, "queue", "status")[1]
    code, _, errors = sophon(here, "queue", "pause")
    assert code == 1
    assert errors.startswith("error: this needs a running host")

    again = here.serve()
    reached(again, first, "completed")
    reached(again, second, "cancelled")
    assert here.paid() == ["Bob"]


@pytest.mark.parametrize(
    ("arguments", "told", "code"),
    [
        (("tasks", "show", "nothing"), "there is no task 'nothing'", 1),
        (("tasks", "list", "--status", "lost"), "'--status': 'lost' is not one of", 2),
        (("tasks", "list", "--url", "http://127.0.0.1:1"), "no host answers at http://127.0.0.1:1", 1),
        (("tasks", "list", "--url", "nonsense"), "nonsense", 1),
        (("trace", "nothing"), "there is no task 'nothing'", 1),
        (("approvals", "approve", "nothing"), "there is no approval 'nothing'", 1),
        (("approvals", "approve", "x", "--arguments", "{"), "--arguments is not valid JSON", 1),
        (("approvals", "approve", "x", "--arguments", "[]"), "--arguments must be a JSON object", 1),
        (("queue", "retry"), "name one dead letter, or --all", 2),
        (("queue", "dead"), "needs a running host", 1),
        (("providers", "list"), "needs a running host", 1),
        (("providers", "reset", "openai"), "needs a running host", 1),
        (("chat", "--url", "http://127.0.0.1:1", "hello"), "no host answers at http://127.0.0.1:1", 1),
        (("chat", "--url", "nonsense", "hello"), "'nonsense' is not the URL of a host", 1),
        (("chat", "--url", "http://127.0.0.1:1", "--approve-up-to", "low", "x"), "do not go together", 2),
    ],
)
def test_a_mistake_is_one_line(program, sophon, arguments, told: str, code: int) -> None:
    found, out, errors = sophon(program(Hub={"Port": 1}), *arguments)
    mistakes = [line for line in errors.splitlines() if line.startswith("error")]
    assert (found, out, len(mistakes)) == (code, "", 1)
    assert told in mistakes[0]
    assert "Traceback" not in errors


def test_what_answers_and_is_no_host_is_told(program, sophon) -> None:
    import http.server
    import threading

    server = http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        code, _, errors = sophon(program(), "tasks", "list", "--url", f"http://127.0.0.1:{server.server_port}")
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    assert code == 1
    assert "is not a Sophon host" in errors


class Chat:
    """`sophon chat --url` over pipes."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.shown = ""

    async def until(self, words: str) -> None:
        """Read until something is shown."""
        assert self.process.stdout is not None
        async with asyncio.timeout(30):
            while words not in self.shown:
                piece = await self.process.stdout.read(4096)
                assert piece, self.shown
                self.shown += piece.decode()

    async def type(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n".encode())
        await self.process.stdin.drain()

    async def end(self) -> int:
        assert self.process.stdin is not None
        self.process.stdin.close()
        return await asyncio.wait_for(self.process.wait(), 30)


@pytest.fixture
async def chat():
    chats: list[Chat] = []

    async def start(here, *arguments: str) -> Chat:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "sophon_hosting.cli", "chat", *arguments, cwd=here.folder,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip
        chats.append(Chat(process))
        return chats[-1]

    yield start
    for each in chats:
        if each.process.returncode is None:
            each.process.kill()
        await each.process.wait()


async def test_a_conversation_with_a_host_has_its_questions_and_its_memory(program, chat) -> None:
    here = program()
    host = here.serve()
    talk = await chat(here, "--url", host.url)
    await talk.type("hello")
    await talk.until("HELLO")
    await talk.type("pay Bob")
    await talk.until("approve, reject")
    await talk.type("continue")
    await talk.until("not a valid answer")
    await talk.type('edit {"whom": "Eve"}')
    await talk.until("invalid arguments")
    await talk.type("approve")
    await talk.until("PAID BOB")
    assert await talk.end() == 0
    assert here.paid() == ["Bob"]
    assert host.get("/api/sessions/main")["messages"] == 4


TOKENS = {"olga": "o" * 32, "ada": "a" * 32, "bob": "b" * 32}
PEOPLE: dict[str, Any] = {
    "Hub": {"Users": [{"Id": name, "Token": token, "Operator": name == "olga"} for name, token in TOKENS.items()]},
    "Permissions": {
        "Users": {"bob": {"Level": "ZeroTrust"}},
        "Levels": {"ZeroTrust": {"Tools": ["pay"], "Features": ["Chat"]}},
    },
}


@pytest.mark.parametrize(
    ("user", "told", "status"),
    [
        ("ada", "the input ended", "completed"),  # only an operator may approve it; she may reject it
        ("bob", "goes on when somebody else decides", "suspended"),  # he may decide nothing
        ("olga", "the input ended", "completed"),
    ],
)
async def test_a_question_at_the_end_of_the_input_is_rejected_at_once_or_left_to_others_and_no_success(
    program, chat, monkeypatch, user: str, told: str, status: str
) -> None:
    here = program(**PEOPLE)
    (here.folder / "brain.py").write_text(BRAIN.replace("risk=Risk.HIGH", "risk=Risk.CRITICAL"))
    host = here.serve()
    monkeypatch.setenv("SOPHON_TOKEN", TOKENS[user])
    talk = await chat(here, "--url", host.url, "pay Bob")
    assert talk.process.stdin is not None
    talk.process.stdin.close()
    await talk.until(told)
    assert await talk.end() == 1, talk.shown
    assert here.paid() == []
    token = {"Authorization": f"Bearer {TOKENS[user]}"}
    listed = httpx.get(f"{host.url}/api/tasks", headers=token, trust_env=False).json()
    assert [each["status"] for each in listed["items"]] == [status]


async def test_preferences_are_shown_set_and_taken_back_in_a_chat_with_a_host(program, chat) -> None:
    here = program()
    host = here.serve()
    talk = await chat(here, "--url", host.url)
    await talk.type("/preferences")
    await talk.until("no preferences")
    await talk.type("/preferences language de")
    await talk.until("  language: de")
    assert host.get("/api/preferences") == {"preferences": {"language": "de"}}
    await talk.type("/preferences colour blue")
    await talk.until("there is no preference 'colour'")
    await talk.type("/preferences model nobody/nothing")  # only the host knows its models
    await talk.until("nobody/nothing")
    await talk.type("/preferences verbosity brief")
    await talk.until("  verbosity: brief")
    await talk.type("/preferences language clear")
    await talk.type("hello")  # the chat goes on after the mistakes
    await talk.until("HELLO")
    assert host.get("/api/preferences") == {"preferences": {"verbosity": "brief"}}
    await talk.end()


async def test_in_a_chat_with_a_host_files_are_attached_skills_called_and_messages_answered_again(
    program, chat
) -> None:
    here = program()
    (here.folder / "notes.txt").write_text("reeds")
    skill = here.folder / "data" / "skills" / "shout"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: shout\ndescription: Says it loudly.\nuser-invocable: true\n---\nDo it.")
    host = here.serve()
    talk = await chat(here, "--url", host.url)
    await talk.type("/regenerate")
    await talk.until("there is no message")
    await talk.type("/attach notes.txt")
    await talk.until("attached: notes.txt, text/plain, 5 bytes")
    await talk.type("hello")
    await talk.until("HELLO")
    await talk.type("/attach")
    await talk.until("nothing is attached")
    await talk.type("/retry")
    await talk.until("HELLO")
    await talk.type("/help")
    await talk.until("Says it loudly.")
    await talk.type("/shout now")
    await talk.until("/SHOUT NOW")
    await talk.type("/whisper")
    await talk.until("there is no command '/whisper'")
    await talk.type("/regenerat")
    await talk.until("did you mean '/regenerate'?")
    await talk.end()
    (listed,) = host.get("/api/sessions")["items"]
    names = ("main", listed["session_id"])
    first, second = (host.get(f"/api/sessions/{each}/messages")["items"] for each in names)
    assert [each["content"].split("\n")[0] for each in first] == ["hello", "HELLO"]
    assert [each["content"].split("\n")[0] for each in second] == ["hello", "HELLO", "/shout now", "/SHOUT NOW"]
    assert [[file["name"] for file in each[0]["attachments"]] for each in (first, second)] == [["notes.txt"]] * 2


async def test_preferences_in_a_chat_with_a_host_are_those_of_the_token(program, chat, monkeypatch) -> None:
    here = program(Hub={"Users": [{"Id": "ada", "Token": "a" * 32}, {"Id": "bob", "Token": "b" * 32}]})
    host = here.serve()
    for token, said in (("a" * 32, "de"), ("b" * 32, "fr")):
        monkeypatch.setenv("SOPHON_TOKEN", token)
        talk = await chat(here, "--url", host.url)
        await talk.type("/preferences")
        await talk.until("no preferences")
        await talk.type(f"/preferences language {said}")
        await talk.until(f"  language: {said}")
        assert await talk.end() == 0


async def test_the_chat_goes_on_where_it_was_when_its_host_is_killed(program, chat) -> None:
    here = program()
    host = here.serve()
    talk = await chat(here, "--url", host.url)
    await talk.type("wait")
    await here.appears("waiting")
    await host.ended(signal.SIGKILL)
    await talk.until("connection lost")
    (here.folder / "go").touch()
    await asyncio.to_thread(here.serve, host.port)
    await talk.until("WAIT")
    assert await talk.end() == 0
    assert talk.shown.count("WAIT") == 1


async def test_ctrl_c_stops_the_task_in_the_host(program, chat) -> None:
    here = program()
    host = here.serve()
    talk = await chat(here, "--url", host.url, "wait")
    await here.appears("waiting")
    talk.process.send_signal(signal.SIGINT)
    assert await talk.end() == 130, talk.shown
    [task] = host.get("/api/tasks")["items"]
    assert task["status"] == "cancelled"


async def test_the_chat_as_json_is_the_wire(program, chat) -> None:
    here = program()
    host = here.serve()
    talk = await chat(here, "--url", host.url, "--json", "hello")
    await talk.until('"event": "response"')
    assert await talk.end() == 0
    events = [json.loads(line) for line in talk.shown.splitlines() if line.startswith("{")]
    assert events[-1]["data"]["text"] == "HELLO"
    seqs = [each["data"]["seq"] for each in events if "seq" in each["data"]]
    assert seqs == sorted(set(seqs))


def test_a_command_does_not_touch_the_host_of_another_project_on_its_port(program, sophon) -> None:
    here = program()
    host = here.serve()
    here.set(Hub={"Port": host.port}, Store={"Url": "sqlite:///other.db"})
    code, _, errors = sophon(here, "queue", "pause")
    assert code == 1
    assert errors.count("\n") == 1
    assert f"give --url {host.url}" in errors
    assert json.loads(sophon(here, "queue", "status", "--json", "--url", host.url)[1])["paused"] is False
    here.set(Hub={"Port": host.port})
    assert sophon(here, "queue", "pause")[0] == 0
    assert json.loads(sophon(here, "queue", "status", "--json")[1])["paused"] is True
