"""The classifier of `Guards.Shield.Classifier`: loaded once, and the same for all calls of the process."""

from functools import lru_cache
from pathlib import Path
from typing import cast

from sophon.errors import SettingsError
from sophon.plugins.import_paths import import_user_object
from sophon.security.shield.classifier_contract import Classifier

SETTING = "Guards.Shield.Classifier"
SHIPPED = "shipped"


def load_classifier(reference: str, labels: tuple[str, ...], folder: Path) -> Classifier:
    """Return the classifier; relative paths are below `folder`. Raises SettingsError if it cannot be used."""
    if reference == SHIPPED or reference.endswith(".onnx"):
        return _load_texts_classifier(reference, labels, folder)
    found = import_user_object(reference, setting=SETTING, folder=folder)
    if not callable(found):
        raise SettingsError([f"{SETTING}: {reference!r} is not a function"])
    return cast(Classifier, found)


@lru_cache(maxsize=4)
def _load_texts_classifier(reference: str, labels: tuple[str, ...], folder: Path) -> Classifier:
    # Lazy: most processes have no classifier of texts.
    from sophon.security.shield.action_text_classification import classify_texts
    from sophon.security.shield.unusable_classifier import UnusableClassifier

    try:
        if reference == SHIPPED:
            from sophon.security.shield.text_classifier import load_text_classifier

            # It is wrong more often than a rule that blocks may be: a person, or the evaluator, decides.
            return classify_texts(load_text_classifier().rate, "escalate")
        from sophon.security.shield.onnx_classifier import OnnxTextClassifier

        model = OnnxTextClassifier(folder / Path(reference).expanduser(), labels)
        return classify_texts(model.rate, "block", is_slow=True)
    except UnusableClassifier as error:
        raise SettingsError([f"{SETTING}: {reference!r} {error}"]) from error
