"""Protection: what keeps the agent from its own identity and from the files of its host."""

import io
import os
import tarfile
import zipfile
from pathlib import Path

import pytest

from sophon import Decision, ToolCall, tool
from sophon.security.commands import unpacked_names
from sophon_middlewares.guards.protection import Protection
from tests.middlewares.guards.conftest import GuardedTurn, shell_call, write_call

BLOCKED = [
    write_call("SOUL.md"),
    write_call("./sub/../soul.md"),
    write_call("security/policy.yaml"),
    write_call("skills/mail/SKILL.md"),
    ToolCall("c1", "files.read", {"path": "config.yaml"}),
    shell_call("echo evil > SOUL.md"),
    shell_call("echo evil | tee -a SO''UL.md"),
    shell_call("cat ../../appsettings.json"),
    shell_call("cp ../../appsettings.json /tmp/x"),
    shell_call("sh -c 'echo x > SOUL.md'"),
    shell_call("cat < ../../appsettings.json"),
    shell_call("dd if=../../appsettings.json of=x"),
    shell_call("sed -i s/kind/evil/ SOUL.md"),
    ToolCall("c1", "copy_file", {"source": "notes.txt", "destination": "SOUL.md"}),
    ToolCall("c1", "move_file", {"source": "SOUL.md", "destination": "x"}),
    ToolCall("c1", "some_tool", {"path": "SOUL.md"}),
    ToolCall("c1", "some_tool", {"file_path": "SOUL.md"}),
    ToolCall("c1", "some_tool", {"path": [["SOUL.md"]]}),
    ToolCall("c1", "some_tool", {"paths": [{"name": "SOUL.md"}]}),
    ToolCall("c1", "move_file", {"source": "sub/SOUL.md", "destination": "."}),
    ToolCall("c1", "delete_directory", {"path": "."}),
    ToolCall("c1", "delete_directory", {"path": "../../data"}),
    ToolCall("c1", "execute_command", {"command": ["rm", "SOUL.md"]}),
    ToolCall("c1", "execute_command", {"command": "rm", "args": ["SOUL.md"]}),
    ToolCall("c1", "bash", {"command": "rm SOUL.md"}),
    shell_call("rm *.md"),
    shell_call("rm S?UL.md"),
    shell_call("rm {SOUL,x}.md"),
    shell_call("cat ../../app*"),
    shell_call("cp sub/SOUL.md ."),
    shell_call("rm -rf ."),
    shell_call("cd .. && rm -rf files"),
    shell_call("mv ../../data x"),
    shell_call("git checkout HEAD -- SOUL.md"),
    shell_call("git rm SOUL.md"),
    shell_call("bash <<EOF\nrm SOUL.md\nEOF\n"),
    shell_call("cat <<'EOF' | sh\ncat ../../appsettings.json\nEOF\n"),
    shell_call("sh -c 'cat ../../appsettings.json'"),
    shell_call("ln SOUL.md x && echo evil > x"),
    shell_call("ln -s ../../appsettings.json x"),
    shell_call("mkdir d; ln -s ../SOUL.md d/x"),
    shell_call("cp -l SOUL.md x"),
    shell_call("link SOUL.md x"),
    shell_call("install -m 644 notes.txt SOUL.md"),
    shell_call("dd if=notes.txt of=SOUL.md"),
    shell_call("wget https://example.org/SOUL.md"),
    shell_call("gunzip SOUL.md.gz"),
    shell_call("patch -p1 <<'EOF'\n--- a/SOUL.md\n+++ b/SOUL.md\n@@ -1 +1 @@\n-I am kind.\n+x\nEOF\n"),
    shell_call("f=SOUL.md; echo evil > $f"),
    shell_call("f=SO; echo evil > ${f}UL.md"),
    shell_call("echo evil > $'SO\\x55L.md'"),
    shell_call("for f in SOUL.md; do echo evil > $f; done"),
    shell_call('set -- SOUL.md; echo evil > "$1"'),
    shell_call("uniq notes.txt SOUL.md"),
    shell_call("python3 -c 'print(open(\"../../appsettings.json\").read())'"),
    shell_call("echo evil >> ../memory/SOUL.md"),
    shell_call("echo evil >> ../memory/principals/bob/IDENTITY.md"),
    shell_call("rm -rf ../memory/principals/bob"),
    shell_call("sqlite3 ../sophon.db .dump"),
    shell_call("echo evil >> ../skills/mail/SKILL.md"),
    write_call("../" * 5000 + "x"),
    write_call("a/../" * 300 + "x"),
]

ALLOWED = [
    ToolCall("c1", "files.read", {"path": "SOUL.md"}),
    ToolCall("c1", "files.read", {"path": "notes.txt"}),
    write_call("new.txt"),
    write_call("project/soul.md"),
    shell_call("echo hi > new.txt"),
    shell_call("cat SOUL.md notes.txt"),
    shell_call("cat *.md | wc -l"),
    shell_call("rm *.txt"),
    shell_call("rm -rf sub"),
    shell_call("mv sub/report.txt ."),
    shell_call("cp SOUL.md sub"),
    shell_call("git add . && git commit -m 'All of *.md'"),
    shell_call("git checkout main"),
    shell_call("python3 -c 'print(1)' project/SOUL.md"),
    shell_call("git commit -m 'SOUL.md says more'; grep -n SOUL.md notes.txt"),
    shell_call("mkdir -p sub; grep -rn kind ."),
    shell_call("bash <<EOF\nls\nEOF\n"),
    shell_call("ln -s notes.txt link.txt"),
    shell_call("patch -p1 --dry-run <<'EOF' || true\n--- a/p/SOUL.md\n+++ b/p/SOUL.md\n@@ -1 +1 @@\n-a\n+b\nEOF\n"),
]


@tool(name="copy_file")
async def copy_file(source: str, destination: str) -> str:
    """Copy a file."""
    return f"copied {source}"


@tool(name="move_file")
async def move_file(source: str, destination: str) -> str:
    """Move a file."""
    return f"moved {source}"


@tool(name="some_tool")
async def some_tool(path: str) -> str:
    """Do something with a file."""
    return f"done {path}"


@tool(name="translate")
async def translate(target: str) -> str:
    """Translate a text."""
    return f"{len(target)} characters"


TOOLS = [copy_file, move_file, some_tool]


def label(call: ToolCall) -> str:
    return f"{call.name} {' '.join(map(str, call.arguments.values()))}"[:80]


@pytest.mark.parametrize("call", BLOCKED, ids=label)
async def test_a_call_that_touches_a_protected_file_is_blocked(turn: GuardedTurn, call: ToolCall) -> None:
    [result] = await turn.run([Protection()], [call], tools=TOOLS)

    assert result.startswith("blocked by Protection (protected_"), result
    assert (turn.folder / "data" / "files" / "SOUL.md").read_text() == "I am kind."
    assert turn.gate.asked == []


@pytest.mark.parametrize(
    "call", [BLOCKED[0], BLOCKED[5], BLOCKED[7], BLOCKED[15], shell_call("ln SOUL.md x && echo evil > x")], ids=label
)
async def test_without_the_guard_the_attack_succeeds(turn: GuardedTurn, call: ToolCall) -> None:
    [result] = await turn.run([], [call], tools=TOOLS)

    assert not result.startswith(("blocked", "error", "denied")), result


@pytest.mark.parametrize("call", ALLOWED, ids=label)
async def test_other_files_are_not_the_guards_business(turn: GuardedTurn, call: ToolCall) -> None:
    [result] = await turn.run([Protection()], [call], tools=TOOLS)

    assert not result.startswith(("blocked", "error")), result
    assert turn.verdicts() == []


async def test_a_level_that_asks_for_a_tier_asks_a_person(turn: GuardedTurn) -> None:
    await turn.run([Protection()], [ToolCall("c1", "some_tool", {"path": "AGENTS.md"})], tools=TOOLS)

    assert [each.call_id for each in turn.gate.asked] == ["c1"]
    assert "it would write AGENTS.md, a protected file" in turn.gate.asked[0].preview
    assert turn.verdicts() == [("c1", "Protection", "escalate", "protected_tier2")]


@pytest.mark.parametrize(
    "command",
    [
        "perl -pi -e s/kind/evil/ SOUL.md",
        "awk '{print > \"SOUL.md\"}' notes.txt",
        'python3 -c \'open("SOUL.md", "w")\'',
        "sed -n 'w USER.md' notes.txt",
        "openssl rand -out HEARTBEAT.md 10",
        "strace --output=AGENTS.md ls",
        "env -C ../memory touch SOUL.md",
        "env -C $PWD/../memory ./run.sh $DIR/SOUL.md",
        "./run.sh skills/mail/SKILL.md",
        "f() { echo evil > $1; }; f SOUL.md",
    ],
)
async def test_a_program_that_nobody_knows_is_asked_about_if_it_names_a_protected_file(
    turn: GuardedTurn, command: str
) -> None:
    turn.gate.decision = Decision.reject("no")
    await turn.run([Protection()], [shell_call(command)])

    assert turn.verdicts() == [("c1", "Protection", "escalate", "protected_unknown")]


async def test_the_reason_names_no_more_of_a_file_than_a_reader_reads(turn: GuardedTurn) -> None:
    [result] = await turn.run([Protection()], [shell_call(f"echo x > {'x' * 40_000}")])

    assert result.startswith("blocked by Protection (protected_blocked): xxx")
    assert len(result) < 200


async def test_a_link_to_a_protected_file_is_protected(turn: GuardedTurn) -> None:
    files = turn.folder / "data" / "files"
    os.link(files / "SOUL.md", files / "plain.txt")
    (files / "settings.txt").symlink_to(turn.folder / "appsettings.json")
    results = await turn.run(
        [Protection()], [shell_call("echo x > plain.txt"), shell_call("cat settings.txt", "c2")], tools=TOOLS
    )

    assert [each.startswith("blocked by Protection") for each in results] == [True, True]


async def test_a_host_in_the_working_directory_is_guarded_like_any_other(
    turn: GuardedTurn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(turn.folder)
    turn.folder = Path()
    results = await turn.run([Protection()], [shell_call("echo $((1+1))"), shell_call("rm SOUL.md", "c2")])

    assert "2" in results[0]
    assert results[1].startswith("blocked by Protection")


def make_tar(path: Path, *names: str, link: str = "", mode: str = "w:gz") -> None:
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        for name in names:
            entry = tarfile.TarInfo(name)
            entry.size = 4
            archive.addfile(entry, io.BytesIO(b"evil"))
        if link:
            entry = tarfile.TarInfo(link)
            entry.type, entry.linkname = tarfile.SYMTYPE, "."
            archive.addfile(entry)


def make_zip(path: Path, *names: str) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, "evil")


UNPACKING = [
    ("tar xzf good.tgz", None),
    ("tar xzf bad.tgz", "block"),
    ("mkdir -p sub && tar xzf bad.tgz -C sub", None),
    ("tar xzf deep.tgz", None),
    ("tar xzf deep.tgz --strip-components=1", "block"),
    ("tar xzf skills.tgz", "block"),
    ("tar xzf links.tgz", "escalate"),
    ("tar xzf broken.tgz", "escalate"),
    ("tar xzf missing.tgz", "escalate"),
    ("cat bad.tgz | tar xz", "escalate"),
    ("unzip -o good.zip", None),
    ("unzip -o bad.zip", "block"),
    ("unzip -o bad.zip -d sub", None),
    ("cd .. && unzip -o nested.zip", "block"),
    ("7z x good.7z", "escalate"),
    ("cp -r plain/. .", None),
    ("cp -r with_soul/. .", "block"),
    ("rsync -a with_soul/ .", "block"),
    ("cp -r unknown_folder/. .", "escalate"),
    ("git restore .", "escalate"),
    ("ln -s . here && echo evil > here/SOUL.md", "block"),
    ("ln -s ../.. up", "escalate"),
    ("bash <<A <<B\nls\nA\nrm SOUL.md\nB\n", "block"),  # it cannot be parsed; a line of it can
    ("bash <<A <<B\nls\nA\nrm x\nB\n", "escalate"),
]


@pytest.mark.parametrize(("command", "verdict"), UNPACKING)
async def test_an_archive_is_unpacked_only_if_it_has_no_protected_file(
    turn: GuardedTurn, command: str, verdict: str | None
) -> None:
    files = turn.folder / "data" / "files"
    make_tar(files / "good.tgz", "a/b.txt", "c.txt")
    make_tar(files / "bad.tgz", "c.txt", "./soul.md")
    make_tar(files / "deep.tgz", "x/SOUL.md")
    make_tar(files / "skills.tgz", "skills/mail/SKILL.md")
    make_tar(files / "links.tgz", "c.txt", link="here")
    (files / "broken.tgz").write_bytes(b"\x1f\x8bxxxx")
    make_zip(files / "good.zip", "a/b.txt")
    make_zip(files / "bad.zip", "a/b.txt", "SOUL.md")
    make_zip(files / "nested.zip", "files/SOUL.md")
    (files / "plain").mkdir()
    (files / "with_soul").mkdir()
    (files / "with_soul" / "SOUL.md").write_text("evil")
    # Not in the turn: what the guard does not block need not run here.
    turn.gate.decision = Decision.reject("no")
    await turn.run([Protection()], [shell_call(command)])

    assert [each[2] for each in turn.verdicts()] == ([verdict] if verdict else [])
    assert (files / "SOUL.md").read_text() == "I am kind."


async def test_an_archive_that_grows_without_end_is_not_read_to_its_end(
    turn: GuardedTurn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unpacked_names, "MAX_ARCHIVE_BYTES", 100_000)
    entry = tarfile.TarInfo("zeros")
    entry.size = 1_000_000
    with tarfile.open(turn.folder / "data" / "files" / "bomb.tgz", "w:gz") as archive:
        archive.addfile(entry, io.BytesIO(bytes(entry.size)))
    turn.gate.decision = Decision.reject("no")
    await turn.run([Protection()], [shell_call("tar xzf bomb.tgz")])

    assert [each[3] for each in turn.verdicts()] == ["protected_unknown"]


async def test_a_zip_entry_with_a_second_name_is_not_trusted(turn: GuardedTurn) -> None:
    path = turn.folder / "data" / "files" / "two.zip"
    with zipfile.ZipFile(path, "w") as archive:
        entry = zipfile.ZipInfo("harmless.txt")
        entry.extra = b"\x75\x70" + (5 + len("SOUL.md")).to_bytes(2, "little") + b"\1" + bytes(4) + b"SOUL.md"
        archive.writestr(entry, "evil")
    turn.gate.decision = Decision.reject("no")
    await turn.run([Protection()], [shell_call("unzip -o two.zip")])

    assert [each[3] for each in turn.verdicts()] == ["protected_unknown"]


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (shell_call("rm -rf /"), "/ cannot be deleted: it holds protected files"),
        (shell_call("rm -rf ."), "files cannot be deleted: it holds protected files"),
        (ToolCall("c1", "delete_directory", {"path": ".."}), "data cannot be deleted: it holds protected files"),
        (ToolCall("c1", "delete_file", {"path": "config.yaml"}), "config.yaml is not for tools"),
        (ToolCall("c1", "delete_file", {"path": "SOUL.md"}), "SOUL.md can only be read"),
    ],
    ids=lambda value: label(value) if isinstance(value, ToolCall) else "",
)
async def test_the_reason_names_the_file_or_the_folder_that_holds_it(
    turn: GuardedTurn, call: ToolCall, reason: str
) -> None:
    [result] = await turn.run([Protection()], [call], tools=TOOLS)
    assert reason in result


LONG = "a long text, and/or what a tool may say about it.\n" * 100


@pytest.mark.parametrize("text", [LONG, f"{LONG}/SOUL.md", "SOUL.md" + "x" * 5000, "ü" * 4000])
async def test_a_text_that_no_system_opens_is_no_path(turn: GuardedTurn, text: str) -> None:
    [result] = await turn.run([Protection()], [ToolCall("c1", "translate", {"target": text})], tools=[translate])
    assert result == f"{len(text)} characters"


@pytest.mark.parametrize(
    "text",
    [
        "SOUL.md" + "\n" * 5000,
        " " * 5000 + "SOUL.md",
        "./" * 5000 + "SOUL.md",
        "x/../" * 5000 + "SOUL.md",
        "/" * 5000 + "SOUL.md",
        f"{'y' * 5000}/../SOUL.md",
    ],
)
async def test_a_long_path_that_a_tool_may_shorten_is_judged(turn: GuardedTurn, text: str) -> None:
    [result] = await turn.run([Protection()], [ToolCall("c1", "translate", {"target": text})], tools=[translate])
    assert result.startswith("blocked by Protection")


@tool(name="terminal")
async def terminal(command: str) -> str:
    """Run a command on the machine."""
    return "ran"


@pytest.mark.parametrize("command", ["cat .env", "echo x > SOUL.md", "rm -r skills", "sh -c 'cat sophon.db'"])
async def test_the_command_of_a_tool_of_ones_own_keeps_off_protected_files(turn: GuardedTurn, command: str) -> None:
    [result] = await turn.run([Protection()], [ToolCall("c1", "terminal", {"command": command})], tools=[terminal])
    assert result.startswith("blocked by Protection")


@pytest.mark.parametrize("command", ["play Don't Stop Me Now", "cat notes.txt", "set volume to 50%"])
async def test_other_commands_of_such_a_tool_run(turn: GuardedTurn, command: str) -> None:
    [result] = await turn.run([Protection()], [ToolCall("c1", "terminal", {"command": command})], tools=[terminal])
    assert result == "ran"
    assert turn.gate.asked == []


async def test_a_person_is_asked_about_a_command_that_is_too_long_to_be_read(turn: GuardedTurn) -> None:
    await turn.run([Protection()], [shell_call(f"echo x > notes.txt; : {'a ' * 30_000}")])

    assert [each.call_id for each in turn.gate.asked] == ["c1"]
    assert turn.verdicts() == [("c1", "Protection", "escalate", "protected_unknown")]
