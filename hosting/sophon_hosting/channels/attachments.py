"""Files that came with a message: fetched before its turn begins, and named in what the turn reads."""

import asyncio
import logging
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from sophon.clock import Clock
from sophon.stores.run_contracts import Run
from sophon_channels.contract import Attachment, Channel
from sophon_channels.errors import ChannelError

log = logging.getLogger("sophon")

MOST_BYTES = 20_000_000
"""Of one file; what Telegram gives out. Source: reference/channels.md."""

FETCH_SECONDS = 60.0
"""For all files of a message: a worker waits for them, and with it whoever is behind."""

_UNFIT = re.compile(r"[^\w.-]+")


class Attachments:
    """Fetches what `Run.origin` names, below the folder in which the tools find files."""

    def __init__(self, channels: Mapping[str, Channel], root: Path, clock: Clock) -> None:
        self._channels, self._root, self._clock = channels, root, clock

    async def prepare(self, run: Run) -> Run:
        """The run with a line for each file in its text: where it lies, or why it does not. May be done again."""
        channel = self._channels.get(run.channel)
        named = run.origin.get("attachments")
        if channel is None or not named:
            return run
        files = [Attachment(**file) for file in named]
        lines = await asyncio.gather(*(self._fetched(channel, run, *each) for each in enumerate(files)))
        return replace(run, text="\n".join([run.text, *lines]))

    async def _fetched(self, channel: Channel, run: Run, number: int, file: Attachment) -> str:
        name = f"{number + 1}-{_UNFIT.sub('_', file.name).strip('._')[-80:] or file.kind}"
        place = Path("uploads") / channel.name / run.id / name
        target = self._root / place
        try:
            if not target.exists():
                await self._fetch(channel, file, target)
            size = target.stat().st_size
        except (ChannelError, OSError) as error:
            log.warning("%s: a file could not be fetched: %s", channel.name, error)
            return f"[attached: {name}, but it could not be fetched: {error}]"
        return f"[attached: {name}, {file.media_type or file.kind}, {size:,} bytes, {place.as_posix()}]"

    async def _fetch(self, channel: Channel, file: Attachment, target: Path) -> None:
        """Under its name only when it is whole: a kill leaves no half of a file that passes for one."""
        target.parent.mkdir(parents=True, exist_ok=True)
        part = target.with_name(f"{target.name}.part")
        try:
            async with self._clock.timeout(FETCH_SECONDS):
                await channel.fetch(file, str(part), limit=MOST_BYTES)
        except TimeoutError:
            raise ChannelError(f"it did not come within {FETCH_SECONDS:.0f} s") from None
        part.replace(target)
