"""YAML of files that people write: safe, without aliases and repeated keys, with the line of each key."""


class StrictYamlError(ValueError):
    """Text that cannot be read as YAML. `line` counts from 1 within the text; 0 if it is not known."""

    def __init__(self, message: str, line: int = 0) -> None:
        self.line = line
        super().__init__(message)


def parse_yaml(text: str) -> object:
    """Return the content of a YAML document; None if it is empty. Raises StrictYamlError."""
    return parse_yaml_with_lines(text)[0]


def parse_yaml_with_lines(text: str) -> tuple[object, dict[str, int]]:
    """Return the content of a YAML document, and the lines of the keys of its outermost mapping, counted from 1.

    Raises StrictYamlError.
    """
    from sophon.yaml_loader import load_with_lines  # lazy: imports PyYAML

    return load_with_lines(text)
