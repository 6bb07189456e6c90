"""Text of a streamed turn that was written where it cannot be taken back: a terminal, or OpenAI's protocol."""

from sophon._python.joined_text import join_texts, separator_after
from sophon.events import StreamChunk


class SentText:
    """Accumulator of streamed text over resets: a new epoch repeats what still counts, which is not sent again."""

    def __init__(self) -> None:
        self.epoch_text = ""
        """The text of the current epoch, which is the turn's text so far."""
        self._epoch: int = 0
        self._sent = ""
        self._expected = ""
        """Sent text that the current epoch may repeat."""
        self._complete = ""
        """The sent text up to the last whole message."""

    def add_chunk(self, chunk: StreamChunk) -> str:
        """Add a chunk; return the text to send, which is empty while the chunk repeats text that was sent."""
        if chunk.epoch != self._epoch:
            self._epoch = chunk.epoch
            self.epoch_text, self._expected = "", self._sent
        self.epoch_text += chunk.text
        if self._expected.startswith(self.epoch_text):
            return ""
        new = new_text(self._expected, self.epoch_text) if self._expected else chunk.text
        self._expected = ""
        self._sent += new
        return new

    def add_message(self, text: str) -> str:
        """Add the text of a message; return it if no chunk has contained it, otherwise nothing."""
        is_new = bool(text.strip()) and not self.epoch_text.rstrip().endswith(text.strip())
        if is_new:
            self.epoch_text, self._sent = join_texts([self.epoch_text, text]), join_texts([self._sent, text])
        self._complete = self._sent
        return text if is_new else ""

    def forget_unfinished(self) -> None:
        """Forget what was sent after the last whole message, so that the next epoch sends it again."""
        self._sent = self._complete


def new_text(sent: str, text: str) -> str:
    """Return the part of a text that was not sent; where the two differ, from the beginning of that line on."""
    if text.startswith(sent):
        return text[len(sent) :]
    pairs = enumerate(zip(sent, text, strict=False))
    common = next((index for index, (one, other) in pairs if one != other), min(len(sent), len(text)))
    return separator_after(sent) + text[text.rfind("\n", 0, common) + 1 :]
