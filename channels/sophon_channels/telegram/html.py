"""The HTML that the Bot API reads: few tags, three characters to escape, always nested (Bot API 10.3, HTML style)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sophon_channels.text.runs import Look, Run


@dataclass(frozen=True, slots=True)
class _Tag:
    opening: str
    closing: str


_QUOTE = _Tag("<blockquote>", "</blockquote>")
_BOLD = _Tag("<b>", "</b>")
_ITALIC = _Tag("<i>", "</i>")
_STRIKE = _Tag("<s>", "</s>")
_CODE = _Tag("<code>", "</code>")
_PRE = _Tag("<pre>", "</pre>")


def to_html(runs: Sequence[Run]) -> str:
    """The runs as HTML; every tag is closed in it, in order."""
    return "".join(_written(runs))


def escape(text: str) -> str:
    """`<`, `>` and `&`; nothing else has a meaning between tags."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _written(runs: Sequence[Run]) -> Iterator[str]:
    is_open: list[_Tag] = []
    for run in runs:
        wanted = _tags(run.look)
        shared = 0
        while shared < min(len(is_open), len(wanted)) and is_open[shared] == wanted[shared]:
            shared += 1
        yield from (tag.closing for tag in reversed(is_open[shared:]))
        yield from (tag.opening for tag in wanted[shared:])
        yield escape(run.text)
        is_open = wanted
    yield from (tag.closing for tag in reversed(is_open))


def _tags(look: Look) -> list[_Tag]:
    """From the outside in. Code holds nothing else and stands in nothing but a quotation: the Bot API's own rule."""
    tags = [_QUOTE] if look.quote else []
    if look.pre is not None:
        return [*tags, _pre(look.pre)]
    if look.code and not look.link:
        return [*tags, _CODE]
    if look.link:
        tags.append(_Tag(f'<a href="{_attribute(look.link)}">', "</a>"))
    styles = ((look.bold, _BOLD), (look.italic, _ITALIC), (look.strike, _STRIKE))
    return tags + [tag for worn, tag in styles if worn]


def _pre(language: str) -> _Tag:
    if not language:
        return _PRE
    return _Tag(f'<pre><code class="language-{_attribute(language)}">', "</code></pre>")


def _attribute(value: str) -> str:
    return escape(value).replace('"', "&quot;")
