"""Announced requests: the approvals of a round that listeners know of, so that a resumed turn announces none again."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

from sophon._python.lazy_dataclass import dataclass
from sophon.context import Context
from sophon.extensions import Key


@dataclass(frozen=True, slots=True)
class AnnouncedRequests:
    """Ids of the requests that were announced in one round."""

    iteration: int
    ids: Sequence[str]

    def to_json(self) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        return {"iteration": self.iteration, "ids": list(self.ids)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Invert `to_json`."""
        return cls(data["iteration"], data["ids"])


ANNOUNCED: Key[AnnouncedRequests] = Key(
    "approval.asked", dump=AnnouncedRequests.to_json, load=AnnouncedRequests.from_json
)


def was_announced(ctx: Context, request_id: str) -> bool:
    """Return whether a request was announced before, in the same round."""
    return request_id in _list_announced(ctx)


def _list_announced(ctx: Context) -> Sequence[str]:
    announced = ctx.get(ANNOUNCED)
    return announced.ids if announced is not None and announced.iteration == ctx.iteration else ()


def note_announced(ctx: Context, request_id: str) -> bool:
    """Note that a request is announced; return False if it was before, in the same round."""
    ids = _list_announced(ctx)
    if request_id in ids:
        return False
    # Requests of earlier rounds are decided: the state of a long turn would grow with them.
    ctx.put(ANNOUNCED, AnnouncedRequests(ctx.iteration, [*ids, request_id]))
    return True
