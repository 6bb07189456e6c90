"""Information flow: the published matrix, the labels of paths, and the rule against the lethal trifecta."""

from sophon.security.information_flow.flow_decision import SINKS, Label, decide_trifecta, flow_decision
from sophon.security.information_flow.path_labels import classify_path
from tests.tables import table

ALL_ALLOWED = "allow allow allow allow allow"
MATRIX = {  # external, exec, memory, workspace_write, workspace_read
    0: ALL_ALLOWED,
    1: "block allow allow allow allow",
    2: "block allow allow allow allow",
    3: "block escalate block escalate allow",
    4: "block block block block block",
}


@table("label", MATRIX)
def test_the_matrix_is_the_published_one(label: int) -> None:
    assert " ".join(flow_decision(label, sink) for sink in SINKS) == MATRIX[label]


@table(("label", "sink"), [(5, "memory"), (-1, "memory"), (0, "internet"), (0, ""), (True, "memory")])
def test_an_unknown_label_or_sink_is_blocked(label: int, sink: str) -> None:
    assert flow_decision(label, sink) == "block"


@table(
    ("untrusted", "private", "sink", "decision"),
    [
        (True, True, "external", "block"),
        (True, True, "workspace_write", "allow"),
        (True, False, "external", "allow"),
        (False, True, "external", "allow"),
        (False, False, "nowhere", "block"),
    ],
)
def test_untrusted_content_and_private_data_close_the_external_sinks(
    untrusted: bool, private: bool, sink: str, decision: str
) -> None:
    assert decide_trifecta(reads_untrusted=untrusted, reads_private=private, sink=sink) == decision


@table(
    ("path", "label"),
    [
        ("/home/ann/.ssh/config", Label.CRITICAL),
        ("/home/ann/keys/id_ed25519", Label.CRITICAL),
        ("certs\\server.PEM", Label.CRITICAL),
        (".env", Label.RESTRICTED),
        ("app/.env.production", Label.RESTRICTED),
        ("app/.env.example", Label.PUBLIC),
        ("client_secrets.json", Label.RESTRICTED),
        ("2026/invoice-17.pdf", Label.CONFIDENTIAL),
        ("private/letter.txt", Label.CONFIDENTIAL),
        ("notes/monday.txt", Label.INTERNAL),
        ("README.md", Label.PUBLIC),
        ("", Label.PUBLIC),
    ],
)
def test_a_path_tells_the_label_of_its_file(path: str, label: Label) -> None:
    assert classify_path(path) is label
