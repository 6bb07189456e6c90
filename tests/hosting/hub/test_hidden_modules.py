"""Hidden modules are absent while a package is imported that would use them."""

import subprocess
import sys

from tests.packaging.test_imports import FOLDERS

PROGRAM = """
import sys
sys.path[:0] = {folders!r}
{code}
"""


def run(code: str) -> str:
    """Return what a fresh interpreter prints."""
    program = PROGRAM.format(folders=FOLDERS, code=code)
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.strip()


def test_a_hidden_module_is_absent_within_the_block_only() -> None:
    code = """
from sophon_hosting.hub.hidden_modules import hide_modules
with hide_modules(["colorsys", "sys"]):
    import sys
    try:
        import colorsys
    except ImportError:
        print("absent", end=" ")
import colorsys
print(colorsys.__name__)
"""
    assert run(code) == "absent colorsys"


def test_socketio_loads_no_client_library_of_its_managers() -> None:
    code = """
import sophon_hosting.hub.protocol
assert "socketio" in sys.modules
print(sorted({"redis", "aio_pika", "requests"} & set(sys.modules)))
"""
    assert run(code) == "[]"
