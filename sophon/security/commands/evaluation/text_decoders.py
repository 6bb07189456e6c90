"""Decoders of the command line: `base64 -d`, `xxd -r -p`, `gunzip` and the like, computed without running them.

Each function gets the arguments and the input, and returns the output, None if it is not known. They raise ValueError,
binascii.Error and zlib.error.
"""

import base64
import re
import zlib
from collections.abc import Callable, Sequence
from typing import Final

MAX_CHARACTERS: Final = 100_000
"""A longer output is not known."""


def run_base64(arguments: Sequence[str], stdin: str) -> str | None:
    """Run `base64`."""
    return _decode_or_encode(arguments, stdin, base64.b64decode, base64.b64encode)


def run_base32(arguments: Sequence[str], stdin: str) -> str | None:
    """Run `base32`."""
    return _decode_or_encode(arguments, stdin, base64.b32decode, base64.b32encode)


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


def _to_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _to_text(content: bytes) -> str:
    return content.decode("utf-8", "surrogateescape")
