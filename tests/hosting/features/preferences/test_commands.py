"""`sophon preferences`, and `/preferences` in the chat of a terminal."""

from tests.hosting.conftest import Command


def test_preferences_are_set_shown_and_taken_back(sophon: Command) -> None:
    assert "no preferences" in sophon("preferences").out
    assert sophon("preferences", "set", "language", "de").out == "language: de\n"
    sophon("preferences", "set", "style", "plain words", "--person", "telegram:5")
    assert sophon("preferences", "show", "--json").json == {"language": "de"}
    assert sophon("preferences", "show", "--person", "telegram:5").out == "style: plain words\n"
    assert "no preferences" in sophon("preferences", "clear", "language").out


def test_a_mistake_is_one_line_and_a_usage_error(sophon: Command) -> None:
    for words in (
        ("set", "colour", "blue"),
        ("set", "verbosity", "endless"),
        ("clear", "colour"),
        ("show", "--person", "system"),
    ):
        done = sophon("preferences", *words)
        assert (done.code, done.out, len(done.err.splitlines())) == (2, "", 1), words


def test_a_model_that_does_not_exist_is_refused_as_in_a_chat(sophon: Command) -> None:
    done = sophon("preferences", "set", "model", "offlin")
    assert (done.code, done.out) == (1, "")
    assert "there is no model 'offlin'; did you mean 'offline'" in done.err
    assert sophon("preferences", "set", "model", "offline").out == "model: offline\n"


def test_without_a_verb_the_options_of_show_hold(sophon: Command) -> None:
    sophon("preferences", "set", "language", "German")
    assert sophon("preferences", "--json").json == sophon("preferences", "show", "--json").json


def test_who_sets_one_beside_users_of_the_host_is_told_whose_it_is(sophon: Command) -> None:
    host = ("--set", 'Hub.Users=[{"Id": "ada", "Token": "the token of ada"}]')
    assert sophon("preferences", "set", "language", "de").err == ""
    assert "for a user of the host: --person ada" in sophon("preferences", "set", "language", "de", *host).err
    assert sophon("preferences", "set", "language", "de", "--person", "ada", *host).err == ""
