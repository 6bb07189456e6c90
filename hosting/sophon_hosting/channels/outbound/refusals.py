"""Refused files: a sentence in the chat with the reason, because the turn that sent the file is over by then."""

from sophon.stores.outbound_entry import OutboundEntry
from sophon_channels.text.single_line import to_single_line
from sophon_hosting.channels.outbound.entries import OutboundWriter

MAX_REASON_LENGTH = 400
"""In characters; a longer reason of the platform is cut."""


async def report_refusal(writer: OutboundWriter, entry: OutboundEntry, reason: str) -> None:
    """Tell the chat that an entry was not delivered; once per entry, however often it is called."""
    files = [entry.payload, *entry.payload.get("more_files", ())]
    names = [repr(to_single_line(str(each["file_name"]))) for each in files if each.get("file_name")]
    what = f"The file {', '.join(names)}" if names else "A message"
    if len(names) > 1:
        what = f"The album of {', '.join(names)}"
    text = f"⚠️ {what} was not delivered: {to_single_line(reason, MAX_REASON_LENGTH) or 'the platform gave no reason'}"
    await writer.write_notice(entry.chat, f"{entry.id}:refused", text, recipient=entry.recipient)
