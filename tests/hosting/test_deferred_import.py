"""Deferred modules: absent until they are used, and then the real ones."""

import subprocess
import sys

from tests.packaging.test_imports import FOLDERS

PROGRAM = """
import sys
sys.path[:0] = {folders!r}
from sophon_hosting.deferred_import import DeferredModule, defer_modules
{code}
"""


def run(code: str) -> str:
    """Return what a fresh interpreter prints."""
    program = PROGRAM.format(folders=FOLDERS, code=code)
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.strip()


def test_a_deferred_module_is_imported_when_an_attribute_is_read() -> None:
    code = """
with defer_modules(["colorsys"]):
    import colorsys as deferred
assert "colorsys" not in sys.modules
print(deferred.rgb_to_hsv.__module__, "colorsys" in sys.modules)
"""
    assert run(code) == "colorsys True"


def test_an_attribute_may_be_read_within_the_block() -> None:
    code = """
with defer_modules(["colorsys"]):
    from colorsys import rgb_to_hsv
import colorsys
print(colorsys.rgb_to_hsv is rgb_to_hsv, isinstance(colorsys, DeferredModule))
"""
    assert run(code) == "True False"


def test_a_module_that_is_imported_already_is_left_alone() -> None:
    code = """
import colorsys
with defer_modules(["colorsys"]):
    import colorsys as again
print(again is colorsys is sys.modules["colorsys"], isinstance(again, DeferredModule))
"""
    assert run(code) == "True False"


def test_a_module_that_is_not_installed_stays_absent() -> None:
    code = """
with defer_modules(["no_such_package"]):
    try:
        import no_such_package
    except ImportError:
        print("absent")
"""
    assert run(code) == "absent"


def test_the_synchronous_client_of_engineio_still_finds_its_dependency() -> None:
    code = """
import sophon_hosting.hub.protocol
assert "requests" not in sys.modules
import engineio.client
print(engineio.client.requests.Session.__module__)
"""
    assert run(code) == "requests.sessions"


def test_a_hidden_module_is_absent_within_the_block_only() -> None:
    code = """
from sophon_hosting.deferred_import import hide_modules
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
print(sorted({"redis", "aio_pika"} & set(sys.modules)))
"""
    assert run(code) == "[]"
