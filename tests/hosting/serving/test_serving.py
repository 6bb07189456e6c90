"""Starting and stopping: what is wrong is told in a line before anything runs, and what was accepted survives."""

import json
import signal
import socket

import httpx
import pytest


def test_a_host_says_where_it_is_and_ends_when_told(program) -> None:
    host = program().serve(fresh=True)
    assert host.get("/readyz")["status"] == "ready"
    assert host.end(signal.SIGTERM)[0] == 0


def test_ctrl_c_ends_it_too(program) -> None:
    assert program().serve(fresh=True).end(signal.SIGINT)[0] == 0


async def test_a_signal_lets_what_runs_come_to_its_end(program) -> None:
    here = program()
    host = here.serve()
    task = httpx.post(f"{host.url}/api/tasks", json={"content": "wait"}, trust_env=False).json()["task_id"]
    await here.appears("waiting")
    host.process.send_signal(signal.SIGTERM)
    (here.folder / "go").touch()
    code, errors = host.end()
    assert code == 0
    assert "1 turn may take up to" in errors
    assert here.run("tasks", "show", task, "--json")[1].count('"completed"') == 1


async def test_a_second_signal_leaves_at_once_and_the_next_start_goes_on(program) -> None:
    here = program()
    host = here.serve()
    task = httpx.post(f"{host.url}/api/tasks", json={"content": "wait"}, trust_env=False).json()["task_id"]
    await here.appears("waiting")
    host.process.send_signal(signal.SIGTERM)
    assert host.process.stderr is not None
    assert any("stopping" in line for line in iter(host.process.stderr.readline, ""))
    assert host.end(signal.SIGTERM)[0] == 128 + signal.SIGTERM
    (here.folder / "go").touch()
    again = here.serve()
    here.until(lambda: again.get(f"/api/tasks/{task}")["status"] == "completed")
    assert again.get(f"/api/tasks/{task}")["answer"] == "WAIT"


def test_a_port_that_is_taken_is_told_in_a_line(program) -> None:
    here = program()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        code, out, errors = here.run("serve", "--port", str(taken.getsockname()[1]))
    assert (code, out) == (1, "")
    assert "cannot listen on 127.0.0.1" in errors
    assert "Address already in use; choose another" in errors
    assert "--port" in errors
    assert len(errors.splitlines()) == 1
    assert not (here.folder / "data" / "sophon.db").exists()


def test_two_hosts_never_work_on_one_store(program) -> None:
    here = program()
    host = here.serve()
    for command in (("serve", "--port", "0"), ("worker",)):
        code, _, errors = here.run(*command)
        assert code == 1
        assert f"process {host.process.pid}" in errors
        assert len(errors.splitlines()) == 1
    host.end(signal.SIGKILL)
    assert here.serve().get("/healthz")["status"] == "ok"


def test_a_worker_works_off_what_the_store_holds(program) -> None:
    here = program()
    host = here.serve()
    httpx.post(f"{host.url}/api/queue/pause", trust_env=False)
    task = httpx.post(f"{host.url}/api/tasks", json={"content": "hello"}, trust_env=False).json()["task_id"]
    host.end(signal.SIGTERM)
    worker = here.start("worker")
    assert worker.stdout is not None
    assert "Running the tasks" in worker.stdout.readline()
    here.until(lambda: '"completed"' in here.run("tasks", "show", task, "--json")[1])
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(30) == 0


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"Tools": {"Modules": ["brain.nowhere"]}}, "Tools.Modules"),
        ({"Chain": {"Factory": "brain:nothing"}}, "Chain.Factory"),
        ({"Chain": {"Factory": "brain:nonsense"}}, "returned int, not a Pipeline"),
        ({"Providers": [{"Id": "mine", "Type": "python", "Factory": "brain:nothing"}]}, "Providers[0].Factory"),
        ({"Hub": {"Host": "0.0.0.0"}}, "Hub.Host"),
        ({"Hub": {"Prot": 1}}, "Hub.Prot"),
        ({"Hub": {"Users": [{"Id": "ada", "Token": {"$env": "NO_SUCH_VARIABLE"}}]}}, "Hub.Users[0].Token"),
        ({"Hub": {"Host": "0.0.0.0", "AllowedOrigins": ["*"]}}, "AllowedOrigins"),
    ],
)
def test_wrong_settings_are_told_before_anything_runs(program, settings, told: str) -> None:
    here = program(**settings)
    code, out, errors = here.run("serve", "--port", "0")
    assert (code, out) == (1, "")
    assert told in errors
    assert "Traceback" not in errors
    assert not (here.folder / "data").exists()


def test_the_log_of_a_host_is_json_with_the_task_in_it(program) -> None:
    here = program()
    host = here.serve()
    task = httpx.post(
        f"{host.url}/api/tasks",
        json={"content": "pay Bob", "session_id": "s"},
        headers={"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"},
        trust_env=False,
    ).json()["task_id"]
    here.until(lambda: host.get("/api/approvals")["items"])
    [asked] = host.get("/api/approvals")["items"]
    httpx.post(f"{host.url}/api/approvals/{asked['approval_id']}", json={"decision": "approve"}, trust_env=False)
    here.until(lambda: host.get(f"/api/tasks/{task}")["status"] == "completed")
    _, errors = host.end(signal.SIGTERM)
    lines = [json.loads(line) for line in errors.splitlines() if line.startswith("{")]
    assert any("approve by local" in line["message"] for line in lines)
    about = [line for line in lines if line.get("task_id") == task]
    assert about
    assert {line["trace_id"] for line in about} == {"4bf92f3577b34da6a3ce929d0e0e4736"}
    assert {line["session_id"] for line in about} == {"s"}
