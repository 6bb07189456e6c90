"""Text programs: what `echo`, `printf`, `base64 -d`, `rev`, `tr` and the like write, computed without running them.

Commands are hidden in them. Whatever an option means that is not read here, the output is not known.
"""

import base64
import binascii
import re
import string
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from sophon.security.commands.evaluation.expansion import decode_escapes

_MAX_ROUNDS: Final = 100
"""Times that `printf` uses its format."""

Program = Callable[[Sequence[str], str], str | None]

MAX_CHARACTERS: Final = 100_000
"""A longer output is not known."""


def run_text_program(name: str, arguments: Sequence[str], stdin: str) -> str | None:
    """Return what a program writes, by its arguments and its input; None if that is not known. Never raises."""
    program = _PROGRAMS.get(name)
    if program is None or len(stdin) > MAX_CHARACTERS:
        return None
    try:
        output = program(arguments, stdin)
    except (ValueError, IndexError, OverflowError, binascii.Error, zlib.error):
        return None
    return output if output is not None and len(output) <= MAX_CHARACTERS else None


def _echo(arguments: Sequence[str], stdin: str) -> str | None:
    words, ends = list(arguments), "\n"
    escapes = False
    while words and re.fullmatch(r"-[neE]+", words[0]):
        escapes, ends = escapes or "e" in words[0], "" if "n" in words[0] else ends
        del words[0]
    text = " ".join(words)
    # The shell of the host may be one whose `echo` replaces escapes without being asked.
    return (decode_escapes(text, is_echo=True) if escapes or "\\" in text else text) + ends


def _printf(arguments: Sequence[str], stdin: str) -> str | None:
    words = list(arguments)
    if words[:1] == ["--"]:
        del words[0]
    elif words[:1] == ["-v"]:
        return ""  # it writes into a variable
    if not words:
        return None
    layout, values = words[0], words[1:]
    parts: list[str] = []
    for _ in range(_MAX_ROUNDS):
        before = len(values)
        for piece in _DIRECTIVE.split(layout):
            if piece == "%%":
                parts.append("%")
            elif not _DIRECTIVE.fullmatch(piece):
                parts.append(decode_escapes(piece, is_echo=True))
            else:
                value = values.pop(0) if values else ""
                parts.append(_format(piece, value))
        if not values or len(values) == before:
            return "".join(parts)
    return None


_DIRECTIVE: Final = re.compile(r"(%[-+ 0#]*\d{0,3}(?:\.\d{1,3})?[sbcdioxXq%])")


def _format(directive: str, value: str) -> str:
    kind, flags = directive[-1], directive[1:-1]
    if kind in "diox":
        number = ord(value[1]) if value[:1] in ("'", '"') else int(value or "0", 0)
        return f"%{flags}{kind}" % number
    text = decode_escapes(value, is_echo=True) if kind == "b" else value[:1] if kind == "c" else value
    return f"%{flags}s" % text


def _cat(arguments: Sequence[str], stdin: str) -> str | None:
    return stdin if all(each in ("-", "-u", "/dev/stdin") for each in arguments) else None


def _tee(arguments: Sequence[str], stdin: str) -> str | None:
    return stdin


def _rev(arguments: Sequence[str], stdin: str) -> str | None:
    return None if arguments else "".join(f"{each[::-1]}\n" for each in stdin.splitlines())


def _tac(arguments: Sequence[str], stdin: str) -> str | None:
    return None if arguments else "".join(f"{each}\n" for each in reversed(stdin.splitlines()))


def _tr(arguments: Sequence[str], stdin: str) -> str | None:
    options = [each for each in arguments if each.startswith("-") and len(each) > 1]
    sets = [_expand_set(each) for each in arguments if each not in options]
    if options in (["-d"], ["--delete"]) and len(sets) == 1:
        return stdin.translate({ord(each): None for each in sets[0]})
    if options in (["-s"], ["--squeeze-repeats"]) and len(sets) == 1:
        return re.sub(f"([{re.escape(sets[0])}])\\1+", r"\1", stdin)
    if options or len(sets) != 2 or not sets[1]:
        return None
    # The last character of the second set stands for the missing ones; of a character twice the last one counts.
    filled = sets[1] + sets[1][-1] * len(sets[0])
    return stdin.translate({ord(old): new for old, new in zip(sets[0], filled, strict=False)})


def _expand_set(text: str) -> str:
    for name, members in _CLASSES.items():
        text = text.replace(f"[:{name}:]", members)
    text = decode_escapes(text, is_echo=True)
    return re.sub(
        r"(.)-(.)", lambda range_: "".join(map(chr, range(ord(range_[1]), min(ord(range_[2]), 0xFFF) + 1))), text
    )


_CLASSES: Final = {
    "lower": string.ascii_lowercase,
    "upper": string.ascii_uppercase,
    "digit": string.digits,
    "alpha": string.ascii_letters,
    "alnum": string.ascii_letters + string.digits,
    "space": " \t\n\r\v\f",
    "blank": " \t",
}


def _cut(arguments: Sequence[str], stdin: str) -> str | None:
    joined = " ".join(arguments)
    if found := re.fullmatch(r"-[cb]\s?(\d*)(-?)(\d*)", joined):
        first = int(found[1] or 1) - 1
        last = int(found[3]) if found[3] else None if found[2] else first + 1
        return "".join(f"{each[first:last]}\n" for each in stdin.splitlines())
    if found := re.fullmatch(r"-d\s?(\S| (?= ))\s?-f\s?(\d+)|-f\s?(\d+) -d\s?(\S)", joined):
        mark, index = found[1] or found[4], int(found[2] or found[3]) - 1
        return "".join(f"{each.split(mark)[index] if mark in each else each}\n" for each in stdin.splitlines())
    return None


def _head(arguments: Sequence[str], stdin: str) -> str | None:
    if found := re.fullmatch(r"-(?:n\s?)?(\d+)", " ".join(arguments)):
        return "".join(stdin.splitlines(keepends=True)[: int(found[1])])
    if found := re.fullmatch(r"-c\s?(\d+)", " ".join(arguments)):
        return stdin[: int(found[1])]
    return None if arguments else "".join(stdin.splitlines(keepends=True)[:10])


def _tail(arguments: Sequence[str], stdin: str) -> str | None:
    lines = stdin.splitlines(keepends=True)
    if found := re.fullmatch(r"-n\s?\+(\d+)", " ".join(arguments)):
        return "".join(lines[max(0, int(found[1]) - 1) :])
    if found := re.fullmatch(r"-(?:n\s?)?(\d+)", " ".join(arguments)):
        return "".join(lines[-int(found[1]) :]) if int(found[1]) else ""
    if found := re.fullmatch(r"-c\s?(\+?)(\d+)", " ".join(arguments)):
        number = int(found[2])
        return stdin[number - 1 :] if found[1] else stdin[-number:]
    return None if arguments else "".join(lines[-10:])


def _sed(arguments: Sequence[str], stdin: str) -> str | None:
    """Replace a plain text by another: `s/a/b/g`; patterns are not known."""
    scripts = [each for each in arguments if each not in ("-e", "-r", "-E")]
    if len(scripts) != 1:
        return None
    found = re.fullmatch(r"s([/|#,:@_])([\w \-~.+$]*)\1([\w \-~./]*)\1(g?)", scripts[0])
    if found is None or re.search(r"[.+$]", found[2]):
        return None
    lines = (each.replace(found[2], found[3], -1 if found[4] else 1) for each in stdin.splitlines())
    return "".join(f"{each}\n" for each in lines)


def _which(arguments: Sequence[str], stdin: str) -> str | None:
    names = [each for each in arguments if not each.startswith("-")]
    return "".join(f"{each if '/' in each else f'/usr/bin/{each}'}\n" for each in names)


def _command(arguments: Sequence[str], stdin: str) -> str | None:
    if arguments[:1] in (["-v"], ["-p"], ["-P"]):
        return _which(arguments[1:], stdin)
    return run_text_program(arguments[0], arguments[1:], stdin) if arguments else None


def _basename(arguments: Sequence[str], stdin: str) -> str | None:
    return f"{arguments[0].rstrip('/').rpartition('/')[2]}\n" if len(arguments) == 1 else None


def _silent(arguments: Sequence[str], stdin: str) -> str | None:
    return ""


def run_base64(arguments: Sequence[str], stdin: str) -> str | None:
    """Run `base64`.

    Each function gets the arguments and the input, and returns the output, None if it is not known. They raise
    ValueError, binascii.Error and zlib.error.
    """
    return _decode_or_encode(arguments, stdin, base64.b64decode, base64.b64encode)


def run_base32(arguments: Sequence[str], stdin: str) -> str | None:
    """Run `base32`."""
    return _decode_or_encode(arguments, stdin, base64.b32decode, base64.b32encode)


def run_xxd(arguments: Sequence[str], stdin: str) -> str | None:
    """Run `xxd`: plain hexadecimal digits."""
    if not all(re.fullmatch(r"-[rpu]*|-ps|-plain", each) for each in arguments):
        return None
    letters = "".join(arguments)
    if "r" in letters and "p" in letters:
        return _to_text(bytes.fromhex("".join(stdin.split())))
    return f"{_to_bytes(stdin).hex()}\n" if "p" in letters and "r" not in letters else None


def run_gunzip(arguments: Sequence[str], stdin: str) -> str | None:
    """Run `gunzip` on its input."""
    if not set(arguments) <= {"-d", "-c", "-dc", "-cd", "-f", "-"}:
        return None
    inflater = zlib.decompressobj(zlib.MAX_WBITS | 32)
    content = inflater.decompress(_to_bytes(stdin), MAX_CHARACTERS)
    return _to_text(content) if inflater.eof else None


def run_gzip(arguments: Sequence[str], stdin: str) -> str | None:
    """Run `gzip -d`; what it compresses is not known."""
    return run_gunzip(arguments, stdin) if any("d" in each for each in arguments) else None


def run_openssl(arguments: Sequence[str], stdin: str) -> str | None:
    """Run `openssl base64 -d`; what it decrypts is not known."""
    options = set(arguments[1:]) - {"-a", "-A", "-base64"}
    is_base64 = arguments[:1] == ["base64"] or (arguments[:1] == ["enc"] and {"-a", "-base64"} & set(arguments))
    return run_base64(["-d"], stdin) if is_base64 and options == {"-d"} else None


_PROGRAMS: Final[Mapping[str, Program]] = {
    "echo": _echo,
    "printf": _printf,
    "cat": _cat,
    "tee": _tee,
    "rev": _rev,
    "tac": _tac,
    "base64": run_base64,
    "base32": run_base32,
    "xxd": run_xxd,
    "tr": _tr,
    "cut": _cut,
    "head": _head,
    "tail": _tail,
    "sed": _sed,
    "gunzip": run_gunzip,
    "zcat": run_gunzip,
    "gzip": run_gzip,
    "openssl": run_openssl,
    "which": _which,
    "type": _command,
    "command": _command,
    "basename": _basename,
    **dict.fromkeys((":", "true", "false", "sleep", "cd", "set", "shopt", "export", "unset"), _silent),
}


def _decode_or_encode(
    arguments: Sequence[str], stdin: str, decode: Callable[[bytes], bytes], encode: Callable[[bytes], bytes]
) -> str | None:
    letters = {"--decode": "d", "--ignore-garbage": "i"}
    options = {letters.get(each, each) for each in arguments if each not in ("-", "/dev/stdin")}
    if not options <= {"d", "i", "-d", "-D", "-i", "-di", "-id", "-w0", "--wrap=0"}:
        return None
    if any("d" in each.lower() for each in options):
        return _to_text(decode(re.sub(r"[^A-Za-z0-9+/=]", "", stdin).encode()))
    return _to_text(encode(_to_bytes(stdin)))


def _to_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _to_text(content: bytes) -> str:
    return content.decode("utf-8", "surrogateescape")
