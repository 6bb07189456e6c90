"""What a person sees of a reply from which tags and blocks are taken out."""

from sophon_middlewares.outer.bridge.code_fences import CodeFences


class VisibleText:
    """`show` what stays, `drop` where something is taken out, `take` what has become visible since the last time.

    White space behind what was dropped goes with it where it stood at the beginning of a line, and so does white space
    before it at the very beginning: no empty lines are left over. A text of which nothing is dropped stays as it is.
    """

    __slots__ = ("_fences", "_fresh", "_leading", "_margin", "_pieces")

    def __init__(self) -> None:
        self._fences = CodeFences()
        self._pieces: list[str] = []
        self._leading: list[str] = []
        self._margin = True
        self._fresh = True
        """Nothing was dropped or shown so far but white space."""

    @property
    def fenced(self) -> bool:
        """What comes next stands in a code fence."""
        return self._fences.open

    def show(self, text: str) -> None:
        """A piece that stays."""
        if self._margin:
            stripped = text.lstrip()
            if self._fresh:
                self._leading.append(text[: len(text) - len(stripped)])
            if not stripped:
                return
            text = "".join(self._leading) + stripped
            self._leading.clear()
            self._margin = self._fresh = False
        self._fences.feed(text)
        self._pieces.append(text)

    def drop(self) -> None:
        """Something was taken out here."""
        if self._fresh:
            self._leading.clear()
            self._fresh = False
        elif self._fences.at_line_start:
            self._margin = True

    def take(self) -> str:
        """What may be shown now."""
        taken = "".join(self._pieces)
        self._pieces.clear()
        return taken

    def close(self) -> str:
        """The rest."""
        return self.take() + "".join(self._leading)
