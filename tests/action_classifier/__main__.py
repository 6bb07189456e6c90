"""Train and measure the classifier that ships: `python -m tests.action_classifier [FILE]`.

Writes sophon/security/shield/text_classifier.json, the same to the byte each time, and prints the tables of
docs/decisions/0142. FILE adds texts of others to the measurement, in lines of JSON:
`["name", "text" or "command", text, is_attack]`. `python -m tests.action_classifier.agentdojo FOLDER`
prints those of AgentDojo.
"""

import sys
from pathlib import Path

from sophon.security.shield.text_classifier import FILE
from tests.action_classifier.measurement import measure, print_tables
from tests.action_classifier.training import dump_text_classifier, train


def main() -> None:
    """Train, write the file, and print the tables."""
    classifier = train()
    FILE.write_text(dump_text_classifier(classifier), "utf-8")
    print_tables(measure(classifier, map(Path, sys.argv[1:])))


if __name__ == "__main__":
    main()
