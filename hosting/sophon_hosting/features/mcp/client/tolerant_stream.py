"""Stream of a server's messages in which an invalid entry of a list costs only itself.

The session of the SDK validates a list as a whole: one tool without a name would lose all of them.
"""

from collections.abc import Mapping
from types import TracebackType
from typing import Any, Final, Self

from mcp.client import ClientSession
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCResponse
from mcp_types.methods import validate_server_result

from sophon.invisible_characters import escape_invisible
from sophon.settings.types.json_type_checks import is_list, is_mapping

LISTS: Final[Mapping[str, str]] = {
    "tools": "tools/list",
    "resources": "resources/list",
    "resourceTemplates": "resources/templates/list",
    "prompts": "prompts/list",
}
"""Methods whose results are lists, by the key of the list."""

MAX_NAME: Final = 64
MAX_DROPPED: Final = 50


class TolerantStream:
    """Passes messages on; of the lists of a server only the valid entries. `dropped` has the others since it was reset.

    Before a version of the protocol is negotiated, nothing is dropped.
    """

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.session: ClientSession | None = None
        self.dropped: dict[str, str] = {}

    @property
    def last_context(self) -> Any:
        """The context of the sender of the last message, if the transport knows it."""
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        """Return the next message."""
        return self._filter(await self._inner.receive())

    async def aclose(self) -> None:
        """Close the stream."""
        await self._inner.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        return self._filter(await self._inner.__anext__())

    async def __aenter__(self) -> Self:
        await self._inner.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        closed: bool | None = await self._inner.__aexit__(kind, error, trace)
        return closed

    def _filter(self, item: SessionMessage | Exception) -> SessionMessage | Exception:
        version = None if self.session is None else self.session.protocol_version
        if version is None or isinstance(item, Exception) or not isinstance(item.message, JSONRPCResponse):
            return item
        result = item.message.result
        key = next((each for each in LISTS if is_list(result.get(each))), None)
        if key is not None and "content" not in result and not _is_valid(LISTS[key], version, result):
            kept = [each for each in result[key] if _is_valid(LISTS[key], version, {**result, key: [each]})]
            self._note_dropped([each for each in result[key] if each not in kept])
            item.message.result = {**result, key: kept}
        return item

    def _note_dropped(self, entries: list[Any]) -> None:
        for entry in entries[: MAX_DROPPED - len(self.dropped)]:
            name = str(entry.get("name") or "") if is_mapping(entry) else ""
            name = escape_invisible(name)[:MAX_NAME] or f"(entry {len(self.dropped) + 1} without a name)"
            self.dropped[name] = "its definition is not valid"


def _is_valid(method: str, version: str, result: Mapping[str, Any]) -> bool:
    try:
        validate_server_result(method, version, dict(result))
    except KeyError:
        return True  # not a method of this version; the session decides
    except ValueError:
        return False
    return True
