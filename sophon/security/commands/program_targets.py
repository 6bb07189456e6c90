"""Targets of programs: which of its arguments a program writes, links, or unpacks, by its options."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from sophon.security.commands.syntax import Word
from sophon.security.commands.tar_options import read_tar


def has_target_option(arguments: Iterable[Word]) -> bool:
    return any(word.text.startswith(("-t", "--target-directory")) for word in arguments)


def plain_words(arguments: Iterable[Word]) -> list[Word]:
    """Return the words that are not options; behind `--` all."""
    found: list[Word] = []
    only_words = False
    for word in arguments:
        if not only_words and word.text == "--":
            only_words = True
        elif only_words or not word.text.startswith("-") or word.text == "-":
            found.append(word)
    return found


def _all(arguments: tuple[Word, ...]) -> Iterator[Word]:
    yield from plain_words(arguments)


def _all_but_first(arguments: tuple[Word, ...]) -> Iterator[Word]:
    yield from plain_words(arguments)[1:]


def _destination(arguments: tuple[Word, ...]) -> Iterator[Word]:
    """Yield where `cp` and the like write: the last word, or the value of `-t`."""
    yield from _values_of(arguments, "-t", "--target-directory")
    yield from plain_words(arguments)[-1:]


def _sources_and_destination(arguments: tuple[Word, ...]) -> Iterator[Word]:
    yield from _values_of(arguments, "-t", "--target-directory")
    yield from plain_words(arguments)


def _output_options(*names: str) -> Callable[[tuple[Word, ...]], Iterator[Word]]:
    def find(arguments: tuple[Word, ...]) -> Iterator[Word]:
        yield from _values_of(arguments, *names)

    return find


def _dd(arguments: tuple[Word, ...]) -> Iterator[Word]:
    for word in arguments:
        if word.text.startswith("of="):
            yield Word(word.text[len("of=") :], word.is_dynamic)


def _sed(arguments: tuple[Word, ...]) -> Iterator[Word]:
    """Yield the files of `sed -i`; its first word is the script unless an option has it."""
    options = [word.text for word in arguments if word.text.startswith("-")]
    if any(option.startswith("--in-place") or re.match(r"-[A-Za-z]*i", option) for option in options):
        yield from plain_words(arguments)
    if any(re.search(r"(?:^|[;\s/])[wW]\s|e\b", word.text) for word in arguments):
        yield Word("", is_dynamic=True)  # its `w` writes files, its `e` runs commands


def _git(arguments: tuple[Word, ...]) -> Iterator[Word]:
    """Yield the files that a subcommand names and changes; which others it changes, nobody knows."""
    subcommand = arguments[0].text if arguments else ""
    if subcommand in ("rm", "mv"):
        yield from plain_words(arguments[1:])
    elif subcommand in ("checkout", "restore", "clean"):
        names = [word.text for word in arguments]
        if "--" in names:
            yield from arguments[names.index("--") + 1 :]
        else:  # a branch is taken for a file, too
            yield from plain_words(arguments[1:])
    yield Word("", is_dynamic=True)


def _find(arguments: tuple[Word, ...]) -> Iterator[Word]:
    actions = {"-delete", "-exec", "-execdir", "-ok", "-okdir", "-fprint", "-fprintf", "-fls", "-fprint0"}
    if any(word.text in actions for word in arguments):
        yield from plain_words(arguments)[:1]
        yield Word("", is_dynamic=True)


def _compress(arguments: tuple[Word, ...]) -> Iterator[Word]:
    """Yield the files that `gzip` and the like replace, under both names."""
    for word in plain_words(arguments):
        yield word
        yield Word(_COMPRESSED.sub("", word.text), word.is_dynamic)


def _zip(arguments: tuple[Word, ...]) -> Iterator[Word]:
    """Yield the archive that `zip` writes, and with `-m` the files that it moves into it."""
    words = plain_words(arguments)
    moves = any(word.text == "--move" or re.fullmatch(r"-[A-Za-z]*m[A-Za-z]*", word.text) for word in arguments)
    yield from words if moves else words[:1]


def _tar(arguments: tuple[Word, ...]) -> Iterator[Word]:
    """Yield the archive that `tar` creates or extends."""
    call = read_tar(arguments)
    if call.creates and call.archive is not None:
        yield call.archive


def _patch(arguments: tuple[Word, ...]) -> Iterator[Word]:
    """Yield the files that `patch` names; those of the patch itself are found by what it unpacks."""
    yield from _values_of(arguments, "-o", "--output", "-r", "--reject-file")
    yield from plain_words(arguments)[:1]


def _curl(arguments: tuple[Word, ...]) -> Iterator[Word]:
    """Yield what `curl` writes; with `-O` a file named like the URL, in the working folder."""
    names = ("-o", "--output", "-D", "--dump-header", "-c", "--cookie-jar", "--output-dir")
    yield from _values_of(_split_options(arguments, _CURL_VALUES), *names)
    if any(re.match(r"--remote-name|-[A-Za-z#]*[OJ]", word.text) for word in arguments):
        yield Word(".")


def _wget(arguments: tuple[Word, ...]) -> Iterator[Word]:
    """Yield what `wget` writes; without `-O` a file named like the URL, in the working folder."""
    arguments = _split_options(arguments, _WGET_VALUES)
    named = list(_values_of(arguments, "-O", "--output-document"))
    yield from named
    yield from _values_of(arguments, "-P", "--directory-prefix", "-o", "--output-file")
    if not named:
        yield Word(".")


def _split_options(arguments: tuple[Word, ...], with_value: str) -> tuple[Word, ...]:
    """Return the arguments with joined short options apart, `-fsSLo x` as `-f -s -S -L -o x`."""
    found: list[Word] = []
    for word in arguments:
        text = word.text
        if re.match(r"-[^-].", text):
            end = next((at for at, letter in enumerate(text) if at and letter in with_value), len(text))
            found += (Word(f"-{letter}") for letter in text[1:end])
            text = f"-{text[end:]}"
        if text != "-" or word.text == "-":
            found.append(replace(word, text=text))
    return tuple(found)


def _values_of(arguments: tuple[Word, ...], *names: str) -> Iterator[Word]:
    """Yield the values of options: in the next word, behind `=`, or behind a short option's letter."""
    for index, word in enumerate(arguments):
        for name in names:
            if word.text == name:
                yield from arguments[index + 1 : index + 2]
            elif name.startswith("--") and word.text.startswith(f"{name}="):
                yield Word(word.text[len(name) + 1 :], word.is_dynamic)
            elif not name.startswith("--") and word.text.startswith(name) and not word.text.startswith("--"):
                yield Word(word.text[len(name) :], word.is_dynamic)


def link_sources(program: str, arguments: tuple[Word, ...]) -> list[Word]:
    """Return what a program makes links to: whoever writes to the link writes to it."""
    if program == "rsync":
        return list(_values_of(arguments, "--link-dest"))
    words = plain_words(arguments)
    if program == "cp" and not any(_LINKS.fullmatch(word.text) for word in arguments):
        return []
    if program not in ("cp", "ln", "link"):
        return []
    return words if len(words) == 1 or has_target_option(arguments) else words[:-1]


_CURL_VALUES: Final = "AbCcDdEeFHhKmoPQrTtUuwXxYyz"
_WGET_VALUES: Final = "aABDeiIloOPQRtTUwX"
"""Short options that have a value."""

_COMPRESSED: Final = re.compile(r"\.(?:gz|bz2|xz|zst|lzma|Z)$", re.IGNORECASE)
_LINKS: Final = re.compile(r"--link|--symbolic-link|-[A-Za-z]*[ls][A-Za-z]*")


_COMPRESSORS: Final = (
    "gzip",
    "gunzip",
    "bzip2",
    "bunzip2",
    "xz",
    "unxz",
    "zstd",
    "unzstd",
    "lzma",
    "unlzma",
    "compress",
)

WRITE_TARGETS: Final[Mapping[str, Callable[[tuple[Word, ...]], Iterator[Word]]]] = {
    **dict.fromkeys(
        ("tee", "sponge", "touch", "mkdir", "rmdir", "rm", "unlink", "shred", "truncate", "mkfifo", "mktemp"), _all
    ),
    **dict.fromkeys(("chmod", "chown", "chgrp", "chattr", "setfacl"), _all_but_first),
    **dict.fromkeys(("cp", "install", "ln", "rsync", "scp", "link"), _destination),
    **dict.fromkeys(("mv", "rename"), _sources_and_destination),
    **dict.fromkeys(_COMPRESSORS, _compress),
    "tar": _tar,
    "bsdtar": _tar,
    "zip": _zip,
    "patch": _patch,
    "dd": _dd,
    "git": _git,
    "sed": _sed,
    **dict.fromkeys(("uniq", "xxd"), _all_but_first),
    "find": _find,
    "sort": _output_options("-o", "--output"),
    "curl": _curl,
    "wget": _wget,
}
