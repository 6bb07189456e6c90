"""Error codes: those of the error classes, and those that the host or the gateway sets without a class."""

from collections.abc import Iterator

# Beside `SophonError`, these are imported for their classes alone: whoever lists the codes may have loaded no store, no
# tool and no channel yet.
from sophon import attachment_inspection as attachment_inspection
from sophon.errors import SophonError
from sophon.settings.sections.permissions import LevelNeeded as LevelNeeded
from sophon.stores.attachments.contract import TooManyBytes as TooManyBytes
from sophon.tools.http import ssrf_guard as ssrf_guard
from sophon_channels import errors as errors

CODES_WITHOUT_CLASS = frozenset({"cancelled", "gave_up", "internal", "interrupted", "ok", "timeout"})
"""Codes of runs that a worker terminates, of foreign exceptions, and of successful attempts."""


def list_error_codes() -> frozenset[str]:
    """Return all error codes of the classes loaded so far, including those of user tools and middlewares.

    Codes that are set only on instances are not included, so the number is bounded by the number of classes.
    """
    return CODES_WITHOUT_CLASS | {error_class.code for error_class in _subclass_tree(SophonError)}


def _subclass_tree(root: type[SophonError]) -> Iterator[type[SophonError]]:
    yield root
    for subclass in root.__subclasses__():
        yield from _subclass_tree(subclass)
