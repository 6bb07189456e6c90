"""Expansion of words, compared with what bash itself makes of them."""

import shutil
import subprocess
from pathlib import Path

import pytest

from sophon.security.commands.nested_scripts import find_all_commands
from sophon.security.commands.syntax import SimpleCommand
from tests.tables import table

BASH = shutil.which("bash")

EXPANSIONS = r"""
probe a\ b 'c d' "e f" g''h i\j "k\"l" "m\n"
probe $'\x41\102\u0043\t' $'it\'s' x$'\n'y
probe {a,b}c d{e,f}h{i,j} {1..3} {c..a} {a} {a,} x{,y}z "{a,b}" \{a,b}
x=ab; probe $x "$x" '$x' ${x}c "${x}d" $x$x
x='a  b'; probe $x "$x" x$x'y'
x='a b'; y=$x; probe $y
x=abcabc; probe ${x:1:2} ${x:2} ${x: -2} ${x#a} ${x#*b} ${x##*b} ${x%c} ${x%b*} ${x%%b*}
x=abcabc; probe ${x/b/X} ${x//b/X} ${x/#a/X} ${x/%c/X} ${x/b} ${#x}
x=aBc; probe ${x^^} ${x,,} ${x^} ${x,}
probe ${u:-a} ${u-b} "${u:=c d}"
x=1; probe ${x:+set} ${x+set} ${x:-no}
y=z; x=y; probe ${!x}
a=(x 'y z' w); probe ${a[0]} "${a[1]}" ${a[2]}
IFS=,; x=a,b,c; probe $x
probe a$IFS'b' x${IFS}y
set -- p q; probe $1 $2 "$1$2"
f() { probe "$1" $2; }; f x 'y z'
printf -v x '%s-%03d' a 7; probe $x
read -r a b <<< 'x y z'; probe $a "$b"
probe $(echo a b) "$(echo 'a  b')" `echo c`
probe $(printf '%s|' a b) "$(printf '%b' 'x\ty')" "$(printf '%d%%' 5)"
probe "$(echo -n a; echo b)" "$(echo a && echo b)" "$( (echo a) | cat )"
probe "$(echo -e 'a\x42\0103')" "$(printf '\101\x42')"
probe "$(echo aGVsbG8= | base64 -d)" "$(base64 <<< hello)" "$(echo NBSWY3DP | base32 -d)"
probe "$(echo hello | rev)" "$(printf 'a\nb\n' | tac)" "$(printf 'a\nb\nc\n' | head -n 2 | tail -1)"
probe "$(echo hello | tr a-z n-za-m)" "$(echo a-b | tr -d -)" "$(echo aabb | tr -s a)"
probe "$(echo ab | tr '[:lower:]' '[:upper:]')"
probe "$(echo a:b:c | cut -d: -f2)" "$(echo abc | cut -c2-)" "$(echo abc | cut -c 2)"
probe "$(echo aXb | sed 's/X/y/')" "$(echo aXbX | sed s/X/y/g)" "$(basename /a/b/c)"
probe "$(echo a > /dev/null; echo b)" "$(echo a > f; cat < f)" "$(cat <(echo c))" "$(cat <<< 'c d')"
x=$(echo a); x+=b; probe $x
for i in a b; do probe $i; done
while read -r l; do probe "$l"; done <<< 'x y'
eval 'probe a' b
a=(x); a+=(y z); probe "${a[@]}"
probe r``m r`:`m x''
probe r$""m $"a"
"""

DOCUMENT = """probe "$(cat <<EOF
a $(echo b)
EOF
)"
"""


@pytest.mark.skipif(BASH is None, reason="no bash is installed")
@pytest.mark.parametrize("script", [*EXPANSIONS.strip().splitlines(), DOCUMENT])
def test_the_words_are_those_of_bash(script: str, tmp_path: Path) -> None:
    show = "probe() { printf '%s\\0' \"$@\"; printf '\\1'; }\n"
    done = subprocess.run([str(BASH), "-c", show + script], capture_output=True, timeout=60, check=True, cwd=tmp_path)
    calls = [tuple(call.split("\0")[:-1]) for call in done.stdout.decode().split("\1")[:-1]]
    found = {tuple(each.text for each in command.arguments) for command in find_probes(script)}
    assert calls
    assert set(calls) <= found


@table(
    "script",
    [
        "probe $PATH",
        "x=$(date); probe $x",
        "read x < file; probe $x",
        "x=$(cat file); probe $x",
        "a=($(cat file)); probe ${a[0]}",
        "for i in *; do probe $i; done",
        "declare -n r=x; x=a; probe $r",
        "mapfile -t a < file; probe $a",
        "x=$((1 + 1)); probe $x",
        "x=$(openssl enc -d -in file); probe $x",
        "probe $(seq 3)",
        "probe *.txt",
    ],
)
def test_what_is_not_known_is_said(script: str) -> None:
    assert all(any(word.is_dynamic for word in command.arguments) for command in find_probes(script))


def find_probes(script: str) -> list[SimpleCommand]:
    return [each for each in find_all_commands(script).commands if each.name == "probe"]
