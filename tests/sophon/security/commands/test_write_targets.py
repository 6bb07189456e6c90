"""What a shell command writes: redirections, programs, nested scripts, and what nobody can tell."""

from hypothesis import given
from hypothesis import strategies as st

from sophon.security.commands import find_write_targets
from sophon.security.commands.unpacking import Unpacking
from tests.tables import table


def targets(command: str) -> tuple[list[str], bool]:
    found = find_write_targets(command, "/ws")
    return sorted(found.paths), found.is_complete


@table(
    ("command", "paths"),
    [
        ("ls -la", []),
        ("cat a | grep b | wc -l", []),
        ("echo hi > out.txt", ["/ws/out.txt"]),
        ("echo hi >> /var/log/x", ["/var/log/x"]),
        ("echo hi >| x", ["/ws/x"]),
        ("ls &> x", ["/ws/x"]),
        ("ls 2> err 1> out", ["/ws/err", "/ws/out"]),
        ("> empty", ["/ws/empty"]),
        ("{ ls; cat a; } > both", ["/ws/both"]),
        ("(cd sub; ls) > x", ["/ws/x"]),
        ('echo hi > "my file"', ["/ws/my file"]),
        ("echo hi > 'S'OUL.md", ["/ws/SOUL.md"]),
        ("echo hi > S\\OUL.md", ["/ws/SOUL.md"]),
        ("echo x | tee -a a b", ["/ws/a", "/ws/b"]),
        ("cp a b", ["/ws/b"]),
        ("cp -t dir a b", ["/ws/b", "/ws/dir"]),
        ("mv a ../b", ["/b", "/ws/a"]),
        ("rm -rf -- -x y", ["/ws/-x", "/ws/y"]),
        ("chmod 777 a", ["/ws/a"]),
        ("dd if=/dev/zero of=disk.img", ["/ws/disk.img"]),
        ("sed -i s/a/b/ conf", ["/ws/conf", "/ws/s/a/b"]),
        ("sed -n 5p conf", []),
        ("curl -o page https://x.org", ["/ws/page"]),
        ("curl --output=page https://x.org", ["/ws/page"]),
        ("wget -Opage https://x.org", ["/ws/page"]),
        ("sort -o a b", ["/ws/a"]),
        ("cd sub && touch a", ["/ws/a", "/ws/sub/a"]),
        ("cd /etc; touch a", ["/etc/a", "/ws/a"]),
        ("bash -c 'echo x > SOUL.md'", ["/ws/SOUL.md"]),
        ("sh -lc 'rm a'", ["/ws/a"]),
        ("eval 'rm' 'a'", ["/ws/a"]),
        ("sudo rm a", ["/ws/a"]),
        ("nohup rm a", ["/ws/a"]),
        ("/bin/rm a", ["/ws/a"]),
        ("true && rm a || rm b; rm c & rm d", ["/ws/a", "/ws/b", "/ws/c", "/ws/d"]),
        ("echo $(rm a) `rm b`", ["/ws/a", "/ws/b"]),
        ("if test -f a; then rm b; fi", ["/ws/b"]),
        ("for x in 1; do touch y; done", ["/ws/y"]),
        ("cat <<EOF > a\nhi\nEOF", ["/ws/a"]),
        ("(cd sub); touch a", ["/ws/a", "/ws/sub/a"]),
        ("bash <<EOF\nrm a\nEOF\n", ["/ws/a"]),
        ("sudo bash -s <<-'EOF'\n\trm a\n\tEOF\n", ["/ws/a"]),
        ("cat <<'EOF' | sh\nrm a\nEOF\n", ["/ws/a"]),
        ("sh <<< 'rm a'", ["/ws/a"]),
        ("echo 'rm a' | bash", ["/ws/a"]),
        ("printf 'ls\\nrm %s' a | sh", ["/ws/%s", "/ws/a"]),
        ("source /dev/stdin <<< 'rm a'", ["/ws/a"]),
        ("busybox sh -c 'rm a'", ["/ws/a"]),
        ("busybox rm a", ["/ws/a"]),
        ("bash <<EOF\nbash -c 'bash <<< \"rm a\"'\nEOF\n", ["/ws/a"]),
        ("cat <<EOF > a\nrm b\nEOF\nbash build.sh", ["/ws/a"]),
        ("ln SOUL.md x", ["/ws/SOUL.md", "/ws/x", "/ws/x/SOUL.md"]),
        ("ln -s ../SOUL.md sub/x", ["/SOUL.md", "/ws/SOUL.md", "/ws/sub/SOUL.md", "/ws/sub/x"]),
        ("link a b", ["/ws/a", "/ws/b", "/ws/b/a"]),
        ("cp -l a b", ["/ws/a", "/ws/b", "/ws/b/a"]),
        ("cp -as a b", ["/ws/a", "/ws/b", "/ws/b/a"]),
        ("install -m 644 a b", ["/ws/b"]),
        ("rsync -a a b", ["/ws/b"]),
        ("gunzip a.gz", ["/ws/a", "/ws/a.gz"]),
        ("gzip a", ["/ws/a"]),
        ("zip x.zip a b", ["/ws/x.zip"]),
        ("zip -rm x.zip a", ["/ws/a", "/ws/x.zip"]),
        ("tar czf x.tgz a", ["/ws/x.tgz"]),
        ("tar -c --file=x.tar a", ["/ws/x.tar"]),
        ("patch a fix.diff", ["/ws/a"]),
        ("git checkout -- a", ["/ws/a"]),
        ("git checkout a", ["/ws/a"]),
        ("wget https://x.org/a", ["/ws"]),
        ("curl -sO https://x.org/a", ["/ws"]),
    ],
)
def test_what_is_written(command: str, paths: list[str]) -> None:
    assert targets(command)[0] == paths


@table(
    "command", ["ls", "echo hi > a", "cp a b", "cd sub && rm x", "bash -c 'rm a'", "python --version", "grep x y | wc"]
)
def test_a_plain_command_is_known_completely(command: str) -> None:
    assert targets(command)[1]


@table(
    "command",
    [
        "rm $X",
        "exec 3<> rw",
        "tee >(cat) < a",
        "; ".join(f"cd {n}" for n in range(9)),
        "rm *.md",
        "echo > $(cat name)",
        "$CMD a",
        "python script.py",
        "unknown-program a",
        "make",
        "xargs rm < list",
        "find . -delete",
        "find . -exec rm {} +",
        "tar xf a.tar",
        "bash script.sh",
        'bash -c "$X"',
        "source x.sh",
        ". x.sh",
        "cd $X && rm a",
        "cd - && rm a",
        "PATH=/tmp/x ls",
        "export PATH=/tmp/x; ls",
        "sed 's/a/b/e' x",
        "sed 'w /etc/x' y",
        "sudo -u ann rm a",
        "echo (",
        "bash <<EOF\nls\nEOF\n",
        "cat script | sh",
        'bash <<< "$X"',
        "unzip a.zip",
        "patch -p1 < a.diff",
        "bash -c 'bash -c \"bash -c x\"'",
        "f() { ls; }; f",
        "rm {a,b}",
        "rm ~/x",
    ],
)
def test_what_cannot_be_known_is_said(command: str) -> None:
    assert not targets(command)[1]


def test_a_computed_name_shows_its_literal_part() -> None:
    assert targets("rm skills/*") == (["/ws/skills/*"], False)


UNPACKED = [
    ("tar xf a.tar", Unpacking("tar", "/ws", ("/ws/a.tar",))),
    ("tar -xzf a.tgz -C sub", Unpacking("tar", "/ws/sub", ("/ws/a.tgz",))),
    ("tar --extract --file a.tar --directory=/x", Unpacking("tar", "/x", ("/ws/a.tar",))),
    ("tar xCf sub a.tar", Unpacking("tar", "/ws/sub", ("/ws/a.tar",))),
    ("tar x --strip-components=2 -f a.tar", Unpacking("tar", "/ws", ("/ws/a.tar",), 2)),
    ("tar xz < a.tgz", Unpacking("tar", "/ws", ("/ws/a.tgz",))),
    ("tar xPf a.tar", Unpacking("unknown", "/ws")),
    ("tar xf a.tar --transform s/a/b/", Unpacking("unknown", "/ws")),
    ("tar xf a.tar -I ./evil", Unpacking("unknown", "/ws")),
    ("curl https://x.org/a | tar xz", Unpacking("unknown", "/ws")),
    ("unzip -o a.zip", Unpacking("zip", "/ws", ("/ws/a.zip",))),
    ("unzip -qod sub a.zip", Unpacking("zip", "/ws/sub", ("/ws/a.zip",))),
    ("unzip a.zip -d /x", Unpacking("zip", "/x", ("/ws/a.zip",))),
    ("unzip -j a.zip", Unpacking("unknown", "/ws")),
    ("7z x a.7z -osub", Unpacking("unknown", "/ws/sub")),
    ("cpio -id < a.cpio", Unpacking("unknown", "/ws")),
    ("cp -r sub/. .", Unpacking("folder", "/ws", ("/ws/sub",))),
    ("cp -rT sub .", Unpacking("folder", "/ws", ("/ws/sub",))),
    ("rsync -a sub/ .", Unpacking("folder", "/ws", ("/ws/sub",))),
    ("rsync -a host:sub/ .", Unpacking("unknown", "/ws")),
    ("patch -p1 < a.diff", Unpacking("patch", "/ws", ("/ws/a.diff",), 1)),
    ("patch -i a.diff", Unpacking("patch", "/ws", ("/ws/a.diff",), -1)),
    ("git apply a.diff", Unpacking("patch", "/ws", ("/ws/a.diff",), 1)),
    ("git checkout -- .", Unpacking("unknown", "/ws")),
    ("git restore .", Unpacking("unknown", "/ws")),
    ("git reset --hard", Unpacking("unknown", "/ws")),
    ("git clean -fdx", Unpacking("unknown", "/ws")),
    ("git clone https://x.org/a .", Unpacking("unknown", "/ws")),
    ("wget -i list", Unpacking("unknown", "/ws")),
    ("curl -OJ https://x.org/a", Unpacking("unknown", "/ws")),
]


@table(("command", "unpacked"), UNPACKED)
def test_what_is_unpacked(command: str, unpacked: Unpacking) -> None:
    found = find_write_targets(command, "/ws")
    assert (found.unpacked, found.is_complete) == ((unpacked,), False)


@table(
    "command",
    [
        *("tar tf a.tar", "tar xOf a.tar", "tar czf a.tgz .", "unzip -l a.zip", "unzip -p a.zip x", "7z l a.7z"),
        *("git checkout main", "git clone https://x.org/a", "cp -r sub .", "rsync -a sub .", "wget https://x.org/a"),
    ],
)
def test_what_unpacks_nothing(command: str) -> None:
    assert find_write_targets(command, "/ws").unpacked == ()


def test_a_source_may_be_in_each_folder_that_the_command_may_be_in() -> None:
    found = find_write_targets("cd sub && tar xf a.tar", "/ws").unpacked
    assert {each.folder for each in found} == {"/ws", "/ws/sub"}
    assert {each.sources for each in found} == {("/ws/a.tar", "/ws/sub/a.tar")}


@given(
    st.lists(st.sampled_from(["tar", "xf", "-C", "--strip-components", "a", "-", "--", "unzip", "-d", "patch", "-p"]))
)
def test_any_options_are_read(words: list[str]) -> None:
    find_write_targets(" ".join(words), "/ws")


@given(st.text(max_size=50) | st.text("rm cp>a b/;|&$(){}'\"\\\n", max_size=40))
def test_any_text_is_read(text: str) -> None:
    found = find_write_targets(text, "/ws")
    assert all(path.startswith("/") for path in found.paths)
