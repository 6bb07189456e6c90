"""A host on its way out, and one that does not come up: what others see of it, and what nobody can do about it."""

import json
import signal
import socket

import httpx


def sent(url: str, content: str) -> httpx.Response:
    return httpx.post(f"{url}/api/tasks", json={"content": content, "session_id": "s"}, trust_env=False)


def told_to_stop(host, number: signal.Signals = signal.SIGTERM) -> None:
    """Send the first signal, and wait until the host says that it stops."""
    host.process.send_signal(number)
    assert any("stopping" in line for line in iter(host.process.stderr.readline, ""))


async def test_while_it_stops_it_takes_nothing_says_so_and_ends_what_runs(program) -> None:
    here = program()
    host = here.serve()
    task = sent(host.url, "wait").json()["task_id"]
    await here.appears("waiting")
    told_to_stop(host)
    ready, refused = httpx.get(f"{host.url}/readyz", trust_env=False), sent(host.url, "hello")
    (here.folder / "go").touch()
    assert host.end()[0] == 0
    assert (ready.status_code, "the host is starting or stopping" in ready.json()["checks"]["worker"]) == (503, True)
    assert (refused.status_code, refused.json()["error"]["code"]) == (503, "unavailable")
    assert json.loads(here.run("tasks", "show", task, "--json")[1])["status"] == "completed"


async def test_a_tool_that_swallows_its_cancellation_keeps_no_host_from_its_end(program) -> None:
    here = program(AgentExecution={"Titles": False, "ShutdownGrace": "00:00:00.1"})
    host = here.serve()
    task = sent(host.url, "cling").json()["task_id"]
    await here.appears("waiting")
    code, errors = host.end(signal.SIGTERM)
    assert (code, "it is left behind" in errors) == (0, True)
    again = here.serve()
    here.until(lambda: json.loads(here.run("tasks", "show", task, "--json")[1])["status"] == "completed")
    assert "unknown" in json.loads(here.run("tasks", "show", task, "--json")[1])["answer"].lower()
    again.end(signal.SIGTERM)


def test_a_terminal_that_is_closed_stops_it_in_good_order(program) -> None:
    assert program().serve().end(signal.SIGHUP)[0] == 0


def test_a_hangup_that_is_ignored_stays_so(program) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as `nohup` does
    try:
        host = program().serve(fresh=True)
    finally:
        signal.signal(signal.SIGHUP, before)
    host.process.send_signal(signal.SIGHUP)
    assert host.get("/readyz")["status"] == "ready"
    assert host.end(signal.SIGTERM)[0] == 0


def test_who_sends_a_request_by_drops_keeps_no_host_from_its_end(program) -> None:
    host = program().serve()
    with socket.create_connection(("127.0.0.1", host.port)) as slow:
        slow.sendall(b'POST /api/tasks HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 999\r\n\r\n{"content"')
        host.get("/healthz")
        assert host.end(signal.SIGTERM)[0] == 0


def test_a_store_that_cannot_be_opened_is_told_in_a_line(program) -> None:
    here = program(Store={"Url": "sqlite:///letters.db"})
    (here.folder / "letters.db").write_text("no database, but a letter")
    code, out, errors = here.run("serve", "--port", "0")
    assert (code, out) == (1, "")
    assert "it is no SQLite database" in errors
    assert "choose another file in Store.Url" in errors
    assert "damaged" not in errors
    assert len(errors.splitlines()) == 1


def test_the_log_can_be_for_people(program) -> None:
    here = program()
    process = here.start("serve", "--port", "0", "--log", "text")
    assert process.stdout.readline().startswith("Sophon is at ")
    process.send_signal(signal.SIGTERM)
    errors = process.communicate(timeout=30)[1]
    assert "WARNING stopping" in errors
    assert "{" not in errors


def test_a_worker_names_the_session_that_it_has_answered(program) -> None:
    here = program(AgentExecution={"Titles": True})
    host = here.serve()
    httpx.post(f"{host.url}/api/queue/pause", trust_env=False)
    sent(host.url, "What is the capital of Australia?")
    host.end(signal.SIGTERM)
    worker = here.start("worker")
    here.until(lambda: json.loads(here.run("sessions", "list", "--json")[1])[0]["title"])
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(30) == 0
