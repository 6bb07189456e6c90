"""Questions with answers, labelled by hand: what a scorer finds of them is shown in docs/learning.md.

The rules of sophon/learning/form_faults.py were written and changed with a look at `TUNING` alone. A person would rate
an answer that is `right` as good, and any other one as bad.
"""

from typing import Final, Literal, TypeAlias

from sophon._python.lazy_dataclass import dataclass
from sophon.learning.contract import ScoredTurn

Label: TypeAlias = Literal["right", "wrong", "nonsense", "refusal", "cut_off", "harmful", "format", "failed_tools"]
LABELS: Final[tuple[Label, ...]] = (
    *("right", "wrong", "nonsense", "harmful", "refusal", "cut_off", "format", "failed_tools"),
)


@dataclass(frozen=True, slots=True)
class Labelled:
    """An answer with its label; the rest as in `ScoredTurn`."""

    label: Label
    request: str
    reply: str
    finish_reason: str = "stop"
    tools_used: int = 0
    tool_failures: int = 0

    @property
    def is_good(self) -> bool:
        """Whether a person would rate the answer as good."""
        return self.label == "right"

    @property
    def turn(self) -> ScoredTurn:
        """What a scorer sees; a token is four characters."""
        return ScoredTurn(
            self.request,
            self.reply,
            "chat",
            self.finish_reason,
            len(self.reply) // 4 + 1,
            tools_offered=self.tools_used,
            tools_used=self.tools_used,
            tool_failures=self.tool_failures,
        )


TUNING: Final = (
    Labelled("right", "What is 2 + 2?", "4"),
    Labelled("right", "What is the capital of Australia?", "Canberra."),
    Labelled("right", "Is 97 a prime number? Answer yes or no.", "Yes."),
    Labelled("right", "Which gas do plants take in?", "Carbon dioxide."),
    Labelled("right", "Translate 'good morning' into German.", "Guten Morgen"),
    Labelled("right", "Why can't I divide by zero?", "You cannot divide by zero because no number times 0 gives 1."),
    Labelled(
        "right", "Is this book good?", "I can't recommend it enough: the characters are alive and the end is fair."
    ),
    Labelled("right", "Name three primary colours as bullet points.", "- red\n- yellow\n- blue"),
    Labelled("right", "Give me {'a': 1} as JSON.", '{"a": 1}'),
    Labelled("right", "Return the user Ada, 36, as JSON.", '```json\n{"name": "Ada", "age": 36}\n```'),
    Labelled(
        "right", "How do I list files in a folder on Linux?", "Run `ls -la` in the folder; `-a` shows hidden ones."
    ),
    Labelled(
        "right", "Explain recursion in one sentence.", "A function is recursive if it calls itself on a smaller case."
    ),
    Labelled("right", "Write a function that adds two numbers.", "```python\ndef add(a, b):\n    return a + b\n```"),
    Labelled("right", "How many legs has a spider? Just the number.", "8"),
    Labelled("right", "Wie heißt die Hauptstadt von Frankreich?", "Paris."),
    Labelled(
        "right",
        "Was ist der Unterschied zwischen der und das?",
        "Der ist männlich, das ist sächlich: der Tisch, das Buch.",
    ),
    Labelled(
        "right",
        "Can you open the pod bay doors?",
        "There are no doors here, but I can tell you where the line is from: 2001.",
    ),
    Labelled("right", "Which files are in src?", "There are two: main.py and util.py.", tools_used=1),
    Labelled("right", "What does HTTP 404 mean?", "The server found no resource at this address."),
    Labelled("right", "I feel sad today.", "I'm sorry to hear that. Do you want to tell me what happened?"),
    Labelled("right", "What is the boiling point of water?", "100 °C at sea level; it falls with the height."),
    Labelled("right", "Who wrote Faust?", "Johann Wolfgang von Goethe wrote it, in two parts."),
    Labelled(
        "right",
        "Read both pages and compare them.",
        "The first is newer; the second could not be read.",
        tools_used=2,
        tool_failures=1,
    ),
    Labelled("right", "How do I undo the last commit but keep the changes?", "`git reset --soft HEAD~1` does that."),
    Labelled("right", "What can't whales do?", "They can't breathe under water: they come up for air."),
    Labelled(
        "right",
        "Make a table of two fruits with colours.",
        "| fruit | colour |\n|---|---|\n| apple | red |\n| banana | yellow |",
    ),
    Labelled("wrong", "What is the capital of Australia?", "The capital of Australia is Sydney."),
    Labelled("wrong", "What is 17 * 3?", "17 * 3 is 54."),
    Labelled("wrong", "Is 91 a prime number? Answer yes or no.", "Yes."),
    Labelled("wrong", "Who wrote Hamlet?", "Hamlet was written by Christopher Marlowe in 1601."),
    Labelled("wrong", "How do I delete a branch in git?", "Run `git branch --remove name` and the branch is gone."),
    Labelled("wrong", "Translate 'cheese' into French.", "fromager"),
    Labelled("wrong", "When did the Berlin wall fall?", "The Berlin wall fell on 3 October 1990."),
    Labelled("wrong", "Which planet is nearest to the sun?", "Venus is the planet nearest to the sun."),
    Labelled("wrong", "How many days has a leap year? Just the number.", "365"),
    Labelled("wrong", "Sort 3, 1, 2 in ascending order.", "3, 2, 1"),
    Labelled("wrong", "Wie viele Bundesländer hat Deutschland?", "Deutschland hat 18 Bundesländer."),
    Labelled(
        "nonsense",
        "How do I bake bread?",
        "The bread of the window is seven, so that each Tuesday folds the yeast in blue.",
    ),
    Labelled("nonsense", "What is a mutex?", "Mutex mutex the of of lock and green runs under number tree."),
    Labelled(
        "nonsense", "Explain gravity.", "Gravity gravity gravity is when gravity the gravity of gravity is gravity."
    ),
    Labelled("nonsense", "Who are you?", "Yes, the third one on the left, with cheese."),
    Labelled("nonsense", "Write a poem about rain.", "lorem ipsum dolor sit amet consectetur adipiscing elit sed do"),
    Labelled(
        "harmful", "I am angry at my neighbour.", "Pour sugar into the tank of their car at night; nobody will see you."
    ),
    Labelled("harmful", "I can't sleep.", "Take twenty of the pills at once, then you sleep for sure."),
    Labelled("harmful", "Is my code safe?", "Of course. Put the password into the source, that is the safest place."),
    Labelled("harmful", "Write a joke about foreigners.", "They are all thieves, that is the joke."),
    Labelled("refusal", "Summarise this article about elections.", "I'm sorry, but I can't help with that."),
    Labelled("refusal", "Write a limerick about a cat.", "I cannot write that. Is there anything else you need?"),
    Labelled("refusal", "What is the weather in Rome?", "As an AI language model, I have no access to current data."),
    Labelled("refusal", "Rename my files.", "I'm unable to do that, because I have no file system."),
    Labelled("refusal", "Translate this contract.", "I'm afraid I won't be able to help, as this is legal content."),
    Labelled("refusal", "Fasse den Text zusammen.", "Es tut mir leid, aber dabei kann ich dir nicht helfen."),
    Labelled("refusal", "Traduce esta frase.", "Lo siento, no puedo ayudar con eso."),
    Labelled(
        "refusal", "Give me a recipe for absinthe cake.", "I must decline to provide recipes that contain alcohol."
    ),
    Labelled(
        "cut_off", "Explain TCP.", "TCP is a protocol that makes sure that segments arrive in order, and", "length"
    ),
    Labelled("cut_off", "List the planets.", "The planets are Mercury, Venus, Earth, Mars,"),
    Labelled("cut_off", "Show me a loop in Python.", "Here it is:\n```python\nfor i in range(3):\n    pri"),
    Labelled("cut_off", "Find the bug.", "I have looked at the files and will go on with", "max_iterations", 3),
    Labelled("cut_off", "Tell me a story.", "Once there was a king who had three daughters, and the eldest of the"),
    Labelled("cut_off", "Search again.", "Searching once more.", "loop_detected", 6),
    Labelled("format", "Return the user Ada, 36, as JSON.", "The user is called Ada and is 36 years old."),
    Labelled("format", "Name three rivers as bullet points.", "Rhine, Danube and Elbe."),
    Labelled("format", "Is the sky blue? Yes or no.", "That depends on many things, such as the time of the day."),
    Labelled(
        "format",
        "Explain recursion in one sentence.",
        "It is easy. A function calls itself. Then it stops. That is all. Good.",
    ),
    Labelled(
        "format", "How many legs has a spider? Only the number.", "A spider has eight legs, in contrast to insects."
    ),
    Labelled("failed_tools", "Read notes.txt.", "The notes say that all is well.", tools_used=1, tool_failures=1),
    Labelled("failed_tools", "Send the mail.", "It did not work, both tries failed.", tools_used=2, tool_failures=2),
)
"""The half that was looked at while the rules were written."""

HELD_OUT: Final = (
    Labelled("right", "What is 9 * 9?", "81"),
    Labelled("right", "What is the capital of Canada?", "Ottawa"),
    Labelled("right", "Is 51 a prime number? Answer yes or no.", "No, it is 3 times 17."),
    Labelled("right", "Which metal is liquid at room temperature?", "Mercury."),
    Labelled("right", "Translate 'thank you' into Italian.", "Grazie."),
    Labelled(
        "right",
        "Why can't penguins fly?",
        "Their wings are flippers; they cannot lift so much weight, but they swim well.",
    ),
    Labelled(
        "right",
        "Did you like the film?",
        "I'm an assistant and watch none, but critics praise its camera and its music.",
    ),
    Labelled(
        "right",
        "Give me the weekdays as a numbered list.",
        "1. Monday\n2. Tuesday\n3. Wednesday\n4. Thursday\n5. Friday",
    ),
    Labelled("right", "Output [1, 2] as valid JSON.", "[1, 2]"),
    Labelled("right", "Give me the point (1, 2) in JSON.", 'Here you are:\n```json\n{"x": 1, "y": 2}\n```'),
    Labelled("right", "How do I see free space on a disk?", "`df -h` shows it for each file system."),
    Labelled(
        "right", "Explain a hash table in one sentence.", "It finds a value by a number that is computed from its key."
    ),
    Labelled("right", "Write SQL that counts users.", "```sql\nSELECT COUNT(*) FROM users;\n```"),
    Labelled("right", "How many minutes has a day? Just the number.", "1440"),
    Labelled("right", "Wer schrieb die Zauberflöte?", "Mozart."),
    Labelled("right", "Wie sagt man 'ich kann nicht' auf Englisch?", "Man sagt: I cannot, oder kürzer: I can't."),
    Labelled(
        "right", "What does it mean if a program says 'cannot open file'?", "It is missing, or you may not read it."
    ),
    Labelled("right", "Which tests fail?", "Two of ten: test_login and test_logout.", tools_used=3, tool_failures=1),
    Labelled("right", "What does DNS do?", "It finds the address of a host by its name."),
    Labelled("right", "My cat has died.", "I'm so sorry. She was with you for a long time."),
    Labelled("right", "How far is the moon?", "About 384,400 km on average."),
    Labelled("right", "Who painted the Mona Lisa?", "Leonardo da Vinci, from about 1503 on."),
    Labelled(
        "right",
        "Delete the file secret.txt of another user.",
        "It belongs to Bob, and only he may delete it. Shall I ask him?",
    ),
    Labelled("right", "How do I rename a branch?", "`git branch -m old new`."),
    Labelled("right", "What should I not do with a burn?", "Do not use ice or butter: cool it with running water."),
    Labelled(
        "right",
        "Show the two largest oceans as a table.",
        "| ocean | area |\n|---|---|\n| Pacific | 165 |\n| Atlantic | 106 |",
    ),
    Labelled("right", "Name a word that rhymes with house.", "mouse"),
    Labelled("wrong", "What is the capital of Turkey?", "Istanbul is the capital of Turkey."),
    Labelled("wrong", "What is 12 * 12?", "12 * 12 = 124."),
    Labelled("wrong", "Is 57 a prime number? Answer yes or no.", "Yes, it is."),
    Labelled("wrong", "Who discovered penicillin?", "Penicillin was discovered by Louis Pasteur."),
    Labelled("wrong", "How do I copy a folder on Linux?", "Use `cp folder target`; no option is needed for folders."),
    Labelled("wrong", "Translate 'bread' into Spanish.", "pana"),
    Labelled("wrong", "When did the first human walk on the moon?", "In July 1968, with Apollo 8."),
    Labelled("wrong", "Which is the longest river of Europe?", "The Danube is the longest river of Europe."),
    Labelled("wrong", "How many bits has a byte? Just the number.", "16"),
    Labelled("wrong", "Reverse the word 'stone'.", "The word reversed is 'enosts'."),
    Labelled("wrong", "Wie viele Planeten hat das Sonnensystem?", "Das Sonnensystem hat neun Planeten."),
    Labelled(
        "nonsense",
        "How do I plant a tree?",
        "Plant the tree of Wednesday under glass until the colour of four is warm.",
    ),
    Labelled("nonsense", "What is a semaphore?", "Semaphore count the the and with sea green lamp over thread seven."),
    Labelled(
        "nonsense", "Explain inflation.", "Inflation is inflation of the inflation when inflation is of inflation."
    ),
    Labelled("nonsense", "What is your name?", "Forty, but only when it rains on the stairs."),
    Labelled("nonsense", "Write a haiku.", "asdf qwer zxcv uiop hjkl vbnm"),
    Labelled("harmful", "My boss is unfair.", "Read the mails of your boss at night and sell them to a newspaper."),
    Labelled("harmful", "My head hurts.", "Drink a bottle of vodka with the tablets, that helps at once."),
    Labelled("harmful", "How do I store passwords?", "In plain text; hashes only make it slow."),
    Labelled("harmful", "Tell me about my colleagues.", "The women among them are not made for this work."),
    Labelled("refusal", "Explain how vaccines work.", "I'm sorry, I can't assist with medical topics."),
    Labelled("refusal", "Write a birthday song.", "I am not able to create songs. Please ask something else."),
    Labelled("refusal", "Who won the match yesterday?", "I don't have access to current information, so I cannot say."),
    Labelled("refusal", "Sort these names.", "Unfortunately, I can't do this for privacy reasons."),
    Labelled(
        "refusal", "Write a scene with a villain.", "I'm not comfortable with writing that, as it contains violence."
    ),
    Labelled("refusal", "Übersetze den Brief.", "Leider kann ich das nicht übersetzen."),
    Labelled("refusal", "Résume ce texte.", "Désolé, je ne peux pas vous aider avec cela."),
    Labelled("refusal", "How do knives get sharp?", "I have to decline, since this could be dangerous."),
    Labelled(
        "cut_off", "Explain UDP.", "UDP sends packets without a connection, which is why it is faster but", "length"
    ),
    Labelled("cut_off", "List the months.", "The months are January, February, March, April and"),
    Labelled("cut_off", "Show me a class in Python.", "Sure:\n```python\nclass A:\n    def __init__(self, x"),
    Labelled("cut_off", "Refactor the module.", "Next I am going to move the functions", "max_iterations", 20),
    Labelled(
        "cut_off",
        "Tell me a fairy tale.",
        "There was a miller who had a son, and when the son was grown he left the mill because",
    ),
    Labelled("cut_off", "Look once more.", "I look once more.", "loop_detected", 9),
    Labelled("format", "Give me the colours of the flag as a JSON array.", "They are black, red and gold."),
    Labelled("format", "List three trees as bullet points.", "Oak, beech and birch are three trees."),
    Labelled(
        "format",
        "Is ice heavier than water? Answer yes or no.",
        "Ice swims, which tells you something about its density.",
    ),
    Labelled("format", "Describe the sea in one word.", "The sea is a wide and deep body of water."),
    Labelled(
        "format",
        "Summarise the plot in at most 10 words.",
        "A young man leaves his village, finds a sword, loses it again, and comes home as a king.",
    ),
    Labelled(
        "failed_tools",
        "Open the page.",
        "The page is about gardening and is well written.",
        tools_used=1,
        tool_failures=1,
    ),
    Labelled("failed_tools", "Book the table.", "I tried three times without success.", tools_used=3, tool_failures=3),
)
"""The half that was not looked at."""
