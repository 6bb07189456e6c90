"""The fast path for commands: what is on it, and every way of hiding something behind a command that is on it."""

from hypothesis import given
from hypothesis import strategies as st

from sophon.security.commands import is_safe_command
from tests.tables import table

SAFE = """
git status
git diff --stat
git log --oneline -n 5
git commit -m "fix; done & dusted > never"
git commit -am 'two words'
git checkout -b feature/x
npm install
npm test
npm run build
yarn build
make
make test -j4
go test ./...
go build -v ./cmd/x
go test -count=1 ./...
cargo build --release
cargo test
docker ps -a
docker logs web
kubectl get pods -n prod
pwd
date
date +%F
whoami
uname -a
echo hello
python --version
cd /srv/app && git status
cd "/srv/my app" && npm test
"""

UNSAFE = r"""
rm -rf /
cat /etc/passwd
ls
grep -r key .
find . -name x
git
git push
git config alias.x '!sh'
git -c core.pager=sh log
git -c core.sshCommand=sh fetch
git log --output=/etc/x
git --exec-path=/tmp/x status
git -C /elsewhere status
git fetch --upload-pack=sh origin
git fetch --upload-p=sh origin
git fetch ext::sh
git diff --no-index /etc/passwd /dev/null
git rebase --exec sh
git grep -Osh x
GIT_SSH_COMMAND=sh git fetch
npm exec evil
npm install --prefix /
npx evil
make -f /tmp/Makefile
make SHELL=/tmp/x
make --eval='x:;id'
go run evil.go
go test -exec sh ./...
go build -toolexec=sh ./...
go build --toolexec=sh ./...
cargo run
cargo --config x build
cargo build --config build.rustc="sh"
docker run -v /:/x alpine
docker exec web sh
docker -H tcp://evil ps
kubectl exec pod -- sh
kubectl get --raw /api
kubectl delete pod x
date -s 2020-01-01
date -f /etc/shadow
python -c 'import os'
python script.py
python --version x
hostname evil
./git status
/tmp/git status
git status; rm -rf /
git status && rm -rf /
git status || sh
git status | sh
git status > /etc/x
git status >> x
git status < x
git status &
git status 2>&1
git log $(id)
git log `id`
git log "$(id)"
git log $HOME
git log "${IFS}"
git log <(id)
git log *.py
git checkout {a,b}
echo $'\x41'
echo ~/x
cd relative && git status
cd .. && git status
cd && git status
cd / && rm x
cd $HOME && git status
cd / || git status
cd / && git status && git log
cd / & git status
(git status)
{ git status; }
! git status
if true; then git status; fi
for x in a; do git status; done
sudo git status
time git status
env git status
command git status
git() { sh; }
"git status"
g''it push
git 'status
git "status
"""


@table("command", SAFE.strip().splitlines())
def test_a_safe_command(command: str) -> None:
    assert is_safe_command(command)
    assert is_safe_command(f"  {command}  ")


@table("command", UNSAFE.strip().splitlines())
def test_an_unsafe_command(command: str) -> None:
    assert not is_safe_command(command)


@table(
    "command",
    [
        "",
        " ",
        "git status\nrm -rf /",
        "git status\rrm",
        "git\tstatus",
        "git status\0",
        "ɡit status",  # a look-alike of g
        "git\u2028status",
        "git status\ud800",
        "git log " + "x" * 5000,
        "(" * 2000,
        "echo hi <<EOF\nhi\nEOF",
    ],
)
def test_an_odd_text_is_not_safe(command: str) -> None:
    assert not is_safe_command(command)


@given(
    st.sampled_from(SAFE.strip().splitlines()),
    st.sampled_from(
        [";", "&&", "||", "|", "&", "\n", ">", ">>", "<", "2>", "$(id)", "`id`", "<(id)", "&>", ">|", "<<<"]
    ),
    st.sampled_from(["rm -rf /", "sh", "/etc/passwd", "x"]),
    st.sampled_from(["", " "]),
)
def test_nothing_can_be_joined_to_a_safe_command(command: str, joint: str, more: str, space: str) -> None:
    assert not is_safe_command(f"{command}{space}{joint}{space}{more}")


@given(st.text(max_size=60) | st.text("git stau;&|<>$`(){}\"'\\\n-=", max_size=40))
def test_any_text_is_judged(text: str) -> None:
    assert is_safe_command(text) in (True, False)
