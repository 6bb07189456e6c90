"""Rendering of styled runs as Bot API HTML: few tags, strict nesting (Bot API 10.3, HTML style)."""

from collections.abc import Iterator, Sequence

from sophon.lazy_dataclass import dataclass
from sophon_channels.text.styled_text import StyledRun, TextStyle


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


def html_from_runs(runs: Sequence[StyledRun]) -> str:
    """Return the runs as HTML; every tag is closed, in order. Pure."""
    return "".join(_render(runs))


def escape_html(text: str) -> str:
    """Escape `<`, `>` and `&`; no other character has a meaning between tags."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def html_tags(style: TextStyle) -> list[str]:
    """Return the opening tags of a style, from outermost to innermost; equal tags of adjacent runs are one. Pure."""
    return [tag.opening for tag in _tags(style)]


def _render(runs: Sequence[StyledRun]) -> Iterator[str]:
    open_tags: list[_Tag] = []
    for run in runs:
        required = _tags(run.style)
        shared = 0
        while shared < min(len(open_tags), len(required)) and open_tags[shared] == required[shared]:
            shared += 1
        yield from (tag.closing for tag in reversed(open_tags[shared:]))
        yield from (tag.opening for tag in required[shared:])
        yield escape_html(run.text)
        open_tags = required
    yield from (tag.closing for tag in reversed(open_tags))


def _tags(style: TextStyle) -> list[_Tag]:
    """Return the tags from outermost to innermost. The Bot API allows code only alone or in a quotation."""
    tags = [_QUOTE] if style.quote else []
    if style.code_block_language is not None:
        return [*tags, _code_block_tag(style.code_block_language)]
    if style.code and not style.link:
        return [*tags, _CODE]
    if style.link:
        tags.append(_Tag(f'<a href="{_escape_attribute(style.link)}">', "</a>"))
    styles = ((style.bold, _BOLD), (style.italic, _ITALIC), (style.strikethrough, _STRIKE))
    return tags + [tag for is_set, tag in styles if is_set]


def _code_block_tag(language: str) -> _Tag:
    if not language:
        return _PRE
    return _Tag(f'<pre><code class="language-{_escape_attribute(language)}">', "</code></pre>")


def _escape_attribute(value: str) -> str:
    return escape_html(value).replace('"', "&quot;")
