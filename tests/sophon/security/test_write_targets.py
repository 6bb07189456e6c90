"""What a shell command writes: redirections, programs, nested scripts, and what nobody can tell."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sophon.security.commands import find_write_targets


def targets(command: str) -> tuple[list[str], bool]:
    found = find_write_targets(command, "/ws")
    return sorted(found.paths), found.is_complete


@pytest.mark.parametrize(
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
    ],
)
def test_what_is_written(command: str, paths: list[str]) -> None:
    assert targets(command)[0] == paths


@pytest.mark.parametrize(
    "command", ["ls", "echo hi > a", "cp a b", "cd sub && rm x", "bash -c 'rm a'", "python --version", "grep x y | wc"]
)
def test_a_plain_command_is_known_completely(command: str) -> None:
    assert targets(command)[1]


@pytest.mark.parametrize(
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


@given(st.text(max_size=50) | st.text("rm cp>a b/;|&$(){}'\"\\\n", max_size=40))
def test_any_text_is_read(text: str) -> None:
    found = find_write_targets(text, "/ws")
    assert all(path.startswith("/") for path in found.paths)
