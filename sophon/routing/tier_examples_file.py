"""Policy file of routing: messages with the tier that suits them, with which the policy cache begins.

Each line is a JSON object: `text` (or `request`, as in `sophon trajectories export`) and `tier`, and where they are
known `model` and `quality` (0 to 1, null if nobody has judged the answer). Other keys are ignored. A quality below 0.6
says that the tier does not suit.
"""

import logging
from collections.abc import Collection
from pathlib import Path
from typing import Any, Final, cast

import orjson

from sophon._python.lazy_dataclass import dataclass
from sophon.clock import Clock
from sophon.learning.contract import Embedder, PolicyCache
from sophon.learning.trajectories import POOR_BELOW

log = logging.getLogger("sophon")

SETTING: Final = "Routing.PolicyFile"
MAX_BYTES: Final = 20_000_000
BATCH: Final = 256
"""Texts that are embedded at once."""


@dataclass(frozen=True, slots=True)
class FilePolicy:
    """Tier for messages like `text`; `quality` is 0 to 1, and poor below `POOR_BELOW`."""

    text: str
    tier: str
    model: str = ""
    quality: float = 1.0


def parse_policy_file(content: bytes, tiers: Collection[str]) -> tuple[list[FilePolicy], list[str]]:
    """Return the policies, and a problem for each line that is none; a tier must be one of `tiers`."""
    found: list[FilePolicy] = []
    problems: list[str] = []
    for number, line in enumerate(content.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            found.append(_parse_line(orjson.loads(line), tiers))
        except ValueError as error:  # of orjson, too
            problems.append(f"line {number}: {error}")
    return found, problems


async def load_policy_file(
    path: Path, policies: PolicyCache, embedder: Embedder, clock: Clock, tiers: Collection[str]
) -> None:
    """Record the policies of a file; what cannot be read or used is logged once, and skipped.

    Raises what the embedder and the policy cache raise.
    """
    try:
        content = await clock.run_in_thread(lambda: _read(path))
    except (OSError, ValueError) as error:
        log.warning("%s: %s cannot be read, and routing goes without it: %s", SETTING, path, error)
        return
    found, problems = parse_policy_file(content, tiers)
    if problems:
        log.warning("%s: %d lines of %s are skipped; the first is %s", SETTING, len(problems), path, problems[0])
    for start in range(0, len(found), BATCH):
        batch = found[start : start + BATCH]
        vectors = await embedder.embed([each.text for each in batch])
        for policy, vector in zip(batch, vectors, strict=True):
            is_poor = policy.quality < POOR_BELOW
            await policies.record(vector, policy.tier, policy.model, policy.quality, is_poor=is_poor)


def _read(path: Path) -> bytes:
    if (size := path.stat().st_size) > MAX_BYTES:
        raise ValueError(f"it has {size} bytes; at most {MAX_BYTES} are read")
    return path.read_bytes()


def _parse_line(data: object, tiers: Collection[str]) -> FilePolicy:
    if not isinstance(data, dict):
        raise ValueError("it is no JSON object")  # noqa: TRY004 - a problem of the line, as the others
    fields = cast(dict[str, Any], data)
    text, tier, model = fields.get("text", fields.get("request")), fields.get("tier"), fields.get("model") or ""
    quality = fields.get("quality", 1.0)
    if not isinstance(text, str) or not text.strip():
        raise ValueError("there is no text")
    if not isinstance(tier, str) or tier not in tiers:
        raise ValueError(f"there is no tier {tier!r}; there are {', '.join(tiers)}")
    if quality is None:
        raise ValueError("nobody has judged the answer")
    if not isinstance(model, str) or type(quality) not in (int, float) or not 0 <= quality <= 1:
        raise ValueError("model is a text, and quality a number from 0 to 1")
    return FilePolicy(text, tier, model, float(quality))
