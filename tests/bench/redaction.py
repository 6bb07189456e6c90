"""What redaction finds, what it replaces by mistake, and its cost: `python -m tests.bench.redaction`.

Recall on the corpus of `redaction_corpus`; false positives on source code (this repository, the standard library, the
installed packages) and on log files of the machine.
"""

import sysconfig
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from sophon.security import StreamRedactor, redact
from tests.bench.redaction_corpus import build_samples, is_leaked

SEED = 13
PER_FORM = 8
ROOT = Path(__file__).resolve().parents[2]
SOURCES = {
    "repository": (ROOT / "sophon", ROOT / "middlewares", ROOT / "hosting", ROOT / "channels", ROOT / "docs"),
    "standard library": (Path(sysconfig.get_path("stdlib")),),
    "installed packages": (Path(sysconfig.get_path("purelib")),),
    "logs of the machine": (Path("/var/log"),),
}
SUFFIXES = frozenset(
    {".py", ".js", ".ts", ".md", ".json", ".toml", ".yaml", ".yml", ".cfg", ".txt", ".sh", ".log", ".c"}
)
MAX_FILE_BYTES = 400_000
MAX_LINES = 400_000
"""Of each source."""
HOSTILE = ("password = ", "api_key: ", "redis-cli ", "sk-a-", "-u a:", "-u ", "key ", "://a:")
"""Repeated, texts that are full of beginnings of secrets."""
NEARLY_SECRET = ("password = settings.password1 ", "-u 1000:1000 ", "password='string' ", "?page_token=1", "hf_-")
"""Repeated, texts of which nearly all that the patterns ask for is there."""
ENDLESS = ("-----BEGIN ", "?key=")
"""Repeated, a text that cannot be cut, and one that is a single secret."""

WORST = (
    "x_pass=",
    "pwd=&quot;a1",
    "pass=",
    "pwd=$A",
    "pwd=>a1[",
    "x_pass=abcdefg1(",
    "x_pass='&a=1",
    "password = hunter22 ",
)
"""Repeated, the dearest of some 13,000 texts that were made of names, operators, values and what follows them."""


def measure_recall() -> dict[str, tuple[int, int]]:
    """Return (secrets, leaked) for the forms that the patterns were made for, and for those that were held out."""
    secrets, leaked = Counter[str](), Counter[str]()
    for sample in build_samples(SEED, PER_FORM):
        kind = "held-out forms" if sample.is_held_out else "forms"
        secrets[kind] += 1
        leaked[kind] += is_leaked(sample, redact(sample.text))
    return {kind: (secrets[kind], leaked[kind]) for kind in secrets}


def read_sources(folders: tuple[Path, ...]) -> Iterator[str]:
    """Yield the text files in the folders, in the order of their names; the standard library without packages."""
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            skipped = "site-packages" in path.relative_to(folder).parts or "dist-packages" in path.parts
            if skipped or path.suffix not in SUFFIXES or not path.is_file() or path.stat().st_size > MAX_FILE_BYTES:
                continue
            yield path.read_text(errors="replace")


def find_changed_lines(text: str) -> list[tuple[str, str]]:
    """Return the lines that redaction changes, and what they become."""
    if redact(text) == text:
        return []
    return [(line, shown) for line in text.splitlines() if (shown := redact(line)) != line]


def measure_false_positives(folders: tuple[Path, ...], max_lines: int = MAX_LINES) -> tuple[int, list[tuple[str, str]]]:
    """Return how many lines were read, and those that were changed. What is replaced there is taken for no secret."""
    lines, changed = 0, list[tuple[str, str]]()
    for text in read_sources(folders):
        lines += text.count("\n") + 1
        changed += find_changed_lines(text)
        if lines >= max_lines:
            break
    return lines, changed


def measure_seconds(text: str) -> float:
    """Return the CPU time of one redaction, the best of five."""
    spent = list[float]()
    for _ in range(5):
        began = time.process_time()
        redact(text)
        spent.append(time.process_time() - began)
    return min(spent)


def main() -> None:
    """Print the figures."""
    for kind, (secrets, leaked) in measure_recall().items():
        print(f"recall, {kind:<24}{secrets:>9} secrets {leaked:>6} leaked {100 * (1 - leaked / secrets):>8.2f} %")
    totals = [0, 0]
    for name, folders in SOURCES.items():
        lines, changed = measure_false_positives(folders)
        totals = [totals[0] + lines, totals[1] + len(changed)]
        _print_changed(name, lines, len(changed))
    _print_changed("all", *totals)
    prose = "The quick brown fox wrote the password and the key into a file, and then it jumped over a token. "
    for name, text in (
        ("1 MB of prose", prose * 10_310),
        ("1 MB of JSON", '{"id": "a1", "name": "x y", "at": "2026-11-23", "sizes": [1, 2]}, ' * 15_400),
        ("1,000 characters", prose * 10),
        ("30 characters", prose[:30]),
    ):
        print(f"cost, {name:<26}{1e6 * measure_seconds(text):>9.0f} us")
    for unit in (*HOSTILE, *NEARLY_SECRET, *ENDLESS, *WORST):
        text = unit * (250_000 // len(unit))
        whole = 1e9 * measure_seconds(text) / len(text)
        large, small = (1e9 * _measure_stream_seconds(text, chunk) / len(text) for chunk in (4096, 50))
        print(f"cost of 1 MB, {unit!r:<34}{whole:>6.0f} ms, in chunks of 4096 {large:>6.0f} ms, of 50 {small:>6.0f} ms")


def _measure_stream_seconds(text: str, chunk: int) -> float:
    began = time.process_time()
    redactor = StreamRedactor()
    for start in range(0, len(text), chunk):
        redactor.feed(text[start : start + chunk])
    redactor.flush()
    return time.process_time() - began


def _print_changed(name: str, lines: int, changed: int) -> None:
    share = f"{1e4 * changed / lines:>8.2f} in 10,000" if lines else ""
    print(f"changed, {name:<23}{lines:>9} lines   {changed:>6} lines  {share}")


if __name__ == "__main__":
    main()
