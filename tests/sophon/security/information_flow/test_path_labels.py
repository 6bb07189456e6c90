"""Labels of files by place and name: what holds secrets, and what is only about them."""

from sophon.security.information_flow.flow_decision import Label
from sophon.security.information_flow.path_labels import classify_path
from tests.tables import table

SECRET = [
    ("/home/ann/.ssh/x", Label.CRITICAL),
    (".ssh/known_hosts", Label.CRITICAL),
    (".aws/config", Label.CRITICAL),
    ("/home/ann/.aws/sso/cache/a.json", Label.CRITICAL),
    (".gnupg/trustdb", Label.CRITICAL),
    (".kube/config", Label.CRITICAL),
    (".docker/config.json", Label.CRITICAL),
    ("backup/id_rsa", Label.CRITICAL),
    ("certs/server.pem", Label.CRITICAL),
    ("vault.kdbx", Label.CRITICAL),
    ("credentials/aws.txt", Label.RESTRICTED),
    ("credentials/README", Label.RESTRICTED),
    ("Secrets/db.yaml", Label.RESTRICTED),
    ("k8s/secrets/prod.yaml", Label.RESTRICTED),
    (".secrets/one", Label.RESTRICTED),
    ("api-keys/openai.txt", Label.RESTRICTED),
    (".env", Label.RESTRICTED),
    ("app/.env.production", Label.RESTRICTED),
    (".envrc", Label.RESTRICTED),
    ("prod.tfvars", Label.RESTRICTED),
    ("passwords.md", Label.RESTRICTED),
    ("notes/passwords.md", Label.RESTRICTED),
    ("client_secrets.json", Label.RESTRICTED),
    ("clientSecret.txt", Label.RESTRICTED),
    ("github-token", Label.RESTRICTED),
    ("tokens.json", Label.RESTRICTED),
    ("openai_api_key.txt", Label.RESTRICTED),
    ("private/letter.txt", Label.CONFIDENTIAL),
    ("private/script.py", Label.CONFIDENTIAL),
    ("docs/confidential/plan.md", Label.CONFIDENTIAL),
    ("finance/2026.ods", Label.CONFIDENTIAL),
    ("taxes_2025.pdf", Label.CONFIDENTIAL),
    ("bank-statement.csv", Label.CONFIDENTIAL),
    ("notes/monday.txt", Label.INTERNAL),
    ("docs/internal/design.md", Label.PUBLIC),
    ("diary/2026-11-26.md", Label.INTERNAL),
    ("MEMORY.md", Label.INTERNAL),
    (".ssh/id_rsa.example", Label.CRITICAL),
    ("Passwörter.txt", Label.RESTRICTED),
    ("contrasen\u0303as.txt", Label.RESTRICTED),  # as macOS writes it
    ("mots_de_passe.odt", Label.RESTRICTED),
    ("\uff43redentials/aws.txt", Label.RESTRICTED),
    ("Rechnung_2026.pdf", Label.CONFIDENTIAL),
    ("facturas/nómina.pdf", Label.CONFIDENTIAL),
    ("Privat/brief.txt", Label.CONFIDENTIAL),
]
ORDINARY = [
    "docs/credentials.md",
    "docs/secrets/rotation.md",
    "doc/password-hashing.rst",
    "docs/decisions/0047-credentials-are-attached-by-destination.md",
    "src/credentials/provider.go",
    "src/secrets.py",
    "lib/password_reset.rb",
    "auth/token.ts",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "token_counts.csv",
    "syntax.txt",
    "taxonomy.json",
    "contracts/Token.sol",
    "contract_test.json",
    "invoice.schema.json",
    "invoice.svg",
    "templates/invoice.html",
    "password-policy.pdf",
    "internal/agent/loop.go",
    "memory/graph.py",
    "hr/views.py",
    "legal/__init__.py",
    ".env.example",
    "secrets.example.yaml",
    ".aws.md",
    ".docker/Dockerfile",
    "certs/cacert.pem",
    "public_key.pem",
    "bankruptcy.txt",
    "secretary.txt",
    "monkey.txt",
    "README.md",
    "package.json",
    "/etc/hosts",
    "CHANGELOG.md",
    "tests/test_passwords.py",
    "keyboard-shortcuts.txt",
    "",
]


@table(("path", "label"), SECRET)
def test_place_and_name_tell_the_label(path: str, label: Label) -> None:
    assert classify_path(path) is label


@table("path", ORDINARY)
def test_ordinary_files_are_public(path: str) -> None:
    assert classify_path(path) is Label.PUBLIC


def test_the_folder_that_was_chosen_for_files_labels_none_of_them() -> None:
    assert classify_path("/home/ann/private/agent/todo.txt", "/home/ann/private/agent") is Label.PUBLIC
    assert classify_path("/home/ann/private/agent/todo.txt", "/home/ann/files") is Label.CONFIDENTIAL
    assert classify_path("/home/ann/.ssh/agent/todo.txt", "/home/ann/.ssh/agent") is Label.CRITICAL
