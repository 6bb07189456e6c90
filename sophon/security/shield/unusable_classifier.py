"""The error of a classifier that cannot be used."""


class UnusableClassifier(ValueError):
    """A classifier that cannot be used; the message goes on after its name ("has no tokenizer.json beside it")."""
