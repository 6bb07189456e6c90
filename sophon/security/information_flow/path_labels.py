"""Labels of files by their place and name: keys and credentials, personal documents, notes.

A name only says what a file is about. So rules by words leave out source code everywhere, and documentation in its
folders: what these contain is judged when it is read (`sophon.security.redaction.key_search`).
"""

import posixpath
import re
import unicodedata
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import Final

from sophon.security.information_flow.flow_decision import Label

_EXAMPLE: Final = re.compile(r"\.(?:example|sample|template|dist)(?:\.\w+)?$", re.IGNORECASE)
"""Files that show the form of a secret file and contain none."""

_CERTIFICATE: Final = re.compile(
    r"(?:^|[/._-])(?:ca|cacert|certs?|chain|fullchain|bundle|public|pub)(?:[._-](?:bundle|certs?|certificates|key))?\.pem$",
    re.IGNORECASE,
)
"""Files of certificates, which everybody may have."""

_SECRET_FOLDER: Final = re.compile(r"(?:^|/)\.(?:ssh|gnupg|aws|azure|kube|password-store)/", re.IGNORECASE)
"""Folders of keys, whatever a file in them is called."""

_PLACES: Final = (
    # Files that are for secrets, whatever their name is about. The first matching pattern determines the label; each is
    # matched against the whole path with `/` as separator.
    (Label.CRITICAL, r"(?:^|/)\.docker/config\.json$"),
    (Label.CRITICAL, r"(?:^|/)(?:id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?|shadow|gshadow|master\.key)$"),
    (Label.CRITICAL, r"\.(?:pem|key|p12|pfx|jks|keystore|kdbx|ppk)$"),
    (Label.RESTRICTED, r"(?:^|/)\.env(?:\.[\w-]+)?$|\.env$|(?:^|/)\.envrc$"),
    (Label.RESTRICTED, r"(?:^|/)(?:\.netrc|\.pgpass|\.npmrc|\.pypirc|\.htpasswd|\.git-credentials)$"),
    (Label.RESTRICTED, r"\.(?:tfvars|token|secret|secrets|password|passwords|credentials)$"),
)
_FOLDERS: Final = (
    (Label.RESTRICTED, r"\.?(?:credentials?|secrets?|passwords|(?:api|access|private)[_-]?keys|access[_-]?tokens)"),
    (Label.CONFIDENTIAL, "private|confidential|privat|vertraulich|privado|confidencial|privé|prive|confidentiel"),
    (Label.CONFIDENTIAL, "personal|finances?|legal|hr"),
    (Label.INTERNAL, "internal|notes|memory|diary|journal"),
)
"""Names of folders, whole and in any case; of the files below them."""

_ASSERTED: Final = frozenset(_FOLDERS[1][1].split("|"))
"""Folders whose name says how their files are to be treated, code and documentation included."""

_SECRET_WORDS: Final = frozenset(
    {
        *("credential", "credentials", "creds", "secret", "secrets", "password", "passwords", "passwd"),
        *("passphrase", "passphrases", "apikey", "apikeys"),
        *("passwort", "passwörter", "passwoerter", "kennwort", "kennwörter", "kennwoerter", "zugangsdaten"),
        *("contraseña", "contraseñas", "contrasena", "contrasenas", "credenciales", "motdepasse", "identifiants"),
    }
)
_SECRET_PAIRS: Final = frozenset(
    [*((first, key) for first in ("api", "access", "private") for key in ("key", "keys")), ("de", "passe")]
)
_TOKENS: Final = frozenset({"token", "tokens"})
"""Secret at the end of a name only: `token_counts` and `tokenizer` are about texts."""
_PERSONAL_WORDS: Final = frozenset(
    {
        *("payroll", "payrolls", "payslip", "payslips", "salary", "salaries", "invoice", "invoices", "contract"),
        *("contracts", "tax", "taxes", "medical", "passport", "passports", "bank"),
        *("gehalt", "gehaltsabrechnung", "lohnabrechnung", "rechnung", "rechnungen", "vertrag", "verträge", "steuer"),
        *(
            "steuern",
            "steuererklärung",
            "reisepass",
            "kontoauszug",
            "nómina",
            "nóminas",
            "nomina",
            "factura",
            "facturas",
        ),
        *("contrato", "contratos", "impuestos", "pasaporte", "salaire", "facture", "factures", "contrat", "contrats"),
        *("impôts", "impots", "passeport", "banque"),
    }
)
_ABOUT: Final = frozenset(
    {
        *("test", "tests", "testing", "spec", "specs", "mock", "mocks", "fixture", "fixtures", "schema", "schemas"),
        *("example", "examples", "sample", "samples", "template", "templates", "policy", "policies", "guide", "howto"),
        *("generator", "validator", "reset", "strength", "rules", "readme", "changelog"),
    }
)
"""Words by which a name is about such data, and does not hold any."""

_CODE: Final = frozenset(
    {
        *("py", "pyi", "pyx", "js", "jsx", "mjs", "cjs", "ts", "tsx", "vue", "svelte", "go", "rs", "java", "kt", "kts"),
        *("scala", "groovy", "c", "h", "cc", "cpp", "cxx", "hpp", "cs", "fs", "swift", "m", "mm", "rb", "php", "pl"),
        *("pm", "lua", "r", "jl", "ex", "exs", "erl", "hs", "ml", "clj", "dart", "zig", "nim", "sol", "css", "scss"),
        *("sass", "less", "html", "htm", "svg", "proto", "graphql", "sql", "sh", "bash", "zsh", "fish", "ps1", "bat"),
        *("j2", "tmpl", "tpl", "erb", "jinja", "map", "wasm", "cmake", "gradle", "tf", "bicep", "po", "pot", "snap"),
        *("pyc", "pyo", "class", "jar", "o", "so", "dll", "whl"),
    }
)
_DOCUMENTS: Final = frozenset({"md", "mdx", "rst", "adoc"})
_DOCUMENTATION: Final = frozenset({"doc", "docs", "documentation", "wiki", "man", "guides", "rfcs", "adr", "decisions"})
"""Folders of documentation. A Markdown file anywhere else is a document of somebody, such as `notes/passwords.md`."""

_CAMEL_CASE: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_WORD: Final = re.compile(r"[^\W\d_]+")


def classify_path(path: str, root: str = "") -> Label:
    """Return the label of a file, or of a folder if the path ends with `/`, by its path alone.

    Rules about words see no more of the path than what is below `root`: whoever chose that folder has chosen its name.
    """
    normalized, root = (unicodedata.normalize("NFKC", each) for each in (path.replace("\\", "/"), root))
    if _SECRET_FOLDER.search(normalized):
        return Label.CRITICAL
    if _EXAMPLE.search(normalized) or _CERTIFICATE.search(normalized):
        return Label.PUBLIC
    place = next((label for label, pattern in _compile_places() if pattern.search(normalized)), None)
    if place is not None:
        return place
    prefix = f"{root.rstrip('/')}/"
    below = normalized.removeprefix(prefix) if root else normalized
    folder, name = posixpath.split(below)
    return max(_label_folder(folder, name), _label_name(folder, name))


def _label_folder(folder: str, name: str) -> Label:
    exempt = _is_code(name) or _is_documentation(folder, name)
    names = {part.casefold() for part in folder.split("/") if part}
    found = (
        label
        for label, pattern in _compile_folders()
        if any(pattern.fullmatch(each) and (not exempt or each in _ASSERTED) for each in names)
    )
    return max(found, default=Label.PUBLIC)


def _label_name(folder: str, name: str) -> Label:
    if name.casefold() in ("memory.md", "user.md"):
        return Label.INTERNAL
    if _is_code(name) or _is_documentation(folder, name):
        return Label.PUBLIC
    stem = posixpath.splitext(name)[0] if not name.startswith(".") else name
    words = [word.casefold() for word in _WORD.findall(_CAMEL_CASE.sub(" ", stem))]
    if not _ABOUT.isdisjoint(words):
        return Label.PUBLIC
    if _is_secret(words):
        return Label.RESTRICTED
    return Label.PUBLIC if _PERSONAL_WORDS.isdisjoint(words) else Label.CONFIDENTIAL


def _is_secret(words: Sequence[str]) -> bool:
    pairs = pairwise(words)
    return not _SECRET_WORDS.isdisjoint(words) or not _SECRET_PAIRS.isdisjoint(pairs) or words[-1:] in _TOKEN_ENDS


_TOKEN_ENDS: Final = [[each] for each in sorted(_TOKENS)]


def _is_code(name: str) -> bool:
    return _suffix(name) in _CODE


def _is_documentation(folder: str, name: str) -> bool:
    return _suffix(name) in _DOCUMENTS and any(part.casefold() in _DOCUMENTATION for part in folder.split("/"))


def _suffix(name: str) -> str:
    return posixpath.splitext(name)[1].removeprefix(".").casefold()


@cache
def _compile_places() -> tuple[tuple[Label, re.Pattern[str]], ...]:
    return tuple((label, re.compile(pattern, re.IGNORECASE)) for label, pattern in _PLACES)


@cache
def _compile_folders() -> tuple[tuple[Label, re.Pattern[str]], ...]:
    return tuple((label, re.compile(pattern)) for label, pattern in _FOLDERS)
