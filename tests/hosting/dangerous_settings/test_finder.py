"""Valid settings that permit more than most people want: each is reported with what it permits."""

import re
from pathlib import Path
from typing import Any

import pytest

from sophon.settings import Settings
from sophon_hosting import dangerous_settings
from sophon_hosting.dangerous_settings.catalog import guard_danger_id, list_dangers, list_default_guards
from sophon_hosting.dangerous_settings.finder import find_dangerous_settings

ADA = {"Id": "ada", "Token": "a-long-token-of-ada", "Operator": True}
BOB = {"Id": "bob", "Token": "a-long-token-of-bob"}
TELEGRAM = {"Enabled": True, "Token": "t"}
FOLDER, HOME = Path("/srv/sophon"), Path("/home/sophon")


def warnings(settings: dict[str, Any]) -> list[str]:
    found = find_dangerous_settings(Settings.from_mapping(settings), folder=FOLDER, home=HOME)
    assert all(each.fix and each.severity in ("low", "medium", "high") for each in found)
    return [str(each) for each in found]


@pytest.mark.parametrize(
    ("settings", "path", "permits"),
    [
        ({"Approval": {"AutoApproveUpTo": "Critical"}}, "Approval.AutoApproveUpTo Critical", "runs any command"),
        (
            {"Approval": {"AutoApproveUpTo": "Critical", "FourEyes": True}},
            "Approval.AutoApproveUpTo Critical",
            "calls of Critical risk still wait for another operator",
        ),
        (
            {"Approval": {"AutoApproveUpTo": "Critical"}, "Hub": {"Users": [ADA, BOB]}},
            "Approval.AutoApproveUpTo Critical",
            "in the turns of others such a call waits for an operator",
        ),
        ({"Approval": {"AutoApproveUpTo": "High"}}, "Approval.AutoApproveUpTo High", "nobody is asked"),
        ({"Approval": {"AskFrom": "Critical"}}, "Approval.AskFrom Critical", "nobody is asked"),
        ({"Guards": {"Protection": {"Enabled": False}}}, "Guards.Protection.Enabled false", "control this host"),
        ({"Guards": {"Integrity": {"Enabled": False}}}, "Guards.Integrity.Enabled false", "between the approval and"),
        ({"Guards": {"Audit": {"Enabled": False}}}, "Guards.Audit.Enabled false", "nobody can tell"),
        (
            {"Guards": {"Protection": {"Enabled": False}}, "Approval": {"AutoApproveUpTo": "High"}},
            "Approval.AutoApproveUpTo High without Protection",
            "nobody is asked, and a guard",
        ),
        ({"Retention": {"Audit": 2}}, "Retention.Audit 2", "last week"),
        ({"Tools": {"FilesRoot": "/"}}, "Tools.FilesRoot /", "every file of this machine"),
        ({"Tools": {"FilesRoot": "/srv/../"}}, "Tools.FilesRoot /srv/..", "every file of this machine"),
        ({"Tools": {"FilesRoot": "/home"}}, "Tools.FilesRoot /home", "home directory"),
        ({"Tools": {"FilesRoot": "/home/sophon"}}, "Tools.FilesRoot /home/sophon", "home directory"),
        ({"Tools": {"FilesRoot": "data"}}, "Tools.FilesRoot data", "the host's database"),
        (
            {"Tools": {"FilesRoot": "."}, "Store": {"Url": "postgresql://db/sophon"}},
            "Tools.FilesRoot .",
            "the host's settings",
        ),
        ({"Tools": {"FilesRoot": "/etc"}}, "Tools.FilesRoot /etc", "of the system or with credentials"),
        ({"Tools": {"FilesRoot": "/home/sophon/.ssh"}}, "Tools.FilesRoot /home/sophon/.ssh", "with credentials"),
        *(
            ({"Tools": {"FilesRoot": each}}, f"Tools.FilesRoot {each}", permits)
            for each, permits in (
                ("/home/ada", "home directory /home/ada"),
                ("/home/ada/.ssh", "with credentials"),
                ("/home/sophon/.ssh/keys", "with credentials"),
                ("/etc/sophon", "of the system"),
                ("/proc/self", "of the system"),
                ("/root", "of the system"),
            )
        ),
        *(
            ({"Tools": {"AllowCidrs": [each]}}, f"Tools.AllowCidrs {each}", permits)
            for each, permits in (
                ("64:ff9b::7f00:0/104", "services of this machine"),
                ("::ffff:7f00:0/104", "services of this machine"),
                ("::ffff:a9fe:a9fe/128", "metadata service"),
                ("64:ff9b::a9fe:0/112", "metadata service"),
                ("64:ff9b::/32", "every address"),
                ("169.254.7.0/24", "metadata service"),
                ("fe80::/64", "metadata service"),
            )
        ),
        *(
            ({"Hub": {"TrustedProxies": [each], "Users": [ADA]}}, f"Hub.TrustedProxies {each}", "guessing tokens")
            for each in ("0.0.0.0/0", "::/0", "10.0.0.0/8", "fd00::/8")
        ),
        ({"Hub": {"AllowedHosts": ["*"], "Users": [ADA]}}, "Hub.AllowedHosts *", "names no host"),
        ({"Tools": {"AllowCidrs": ["0.0.0.0/0"]}}, "Tools.AllowCidrs 0.0.0.0/0", "every address"),
        ({"Tools": {"AllowCidrs": ["::/0"]}}, "Tools.AllowCidrs ::/0", "every address"),
        ({"Tools": {"AllowCidrs": ["169.254.0.0/16"]}}, "Tools.AllowCidrs 169.254.0.0/16", "metadata service"),
        ({"Tools": {"AllowCidrs": ["fd00:ec2::254/128"]}}, "Tools.AllowCidrs fd00:ec2::254/128", "metadata service"),
        ({"Tools": {"AllowCidrs": ["127.0.0.1/32"]}}, "Tools.AllowCidrs 127.0.0.1/32", "services of this machine"),
        ({"Tools": {"AllowCidrs": ["::1/128"]}}, "Tools.AllowCidrs ::1/128", "services of this machine"),
        ({"Tools": {"AllowCidrs": ["10.0.0.0/8"]}}, "Tools.AllowCidrs 10.0.0.0/8", "16,777,216 private addresses"),
        ({"Tools": {"AllowCidrs": ["fd00::/8"]}}, "Tools.AllowCidrs fd00::/8", "metadata service"),
        ({"Hub": {"AllowedOrigins": ["*"], "Users": [ADA]}}, "Hub.AllowedOrigins *", "every web page"),
        ({"Hub": {"AllowedOrigins": ["https://a.example"]}}, "Hub.AllowedOrigins without Hub.Users", "an operator"),
        ({"Hub": {"AllowedHosts": ["a.example"]}}, "Hub.AllowedHosts without Hub.Users", "without a token"),
        ({"Hub": {"OpenAiApi": True}}, "Hub.OpenAiApi without Hub.Users", "without a token"),
        ({"Hub": {"Host": "0.0.0.0", "Users": [ADA]}}, "Hub.Host 0.0.0.0", "unencrypted"),
        (
            {"Channels": {"Telegram": {**TELEGRAM, "DirectPolicy": "Open"}}},
            "Channels.Telegram.DirectPolicy Open",
            "everybody who finds the account",
        ),
        (
            {
                "Channels": {"WhatsApp": {"Enabled": True, "DirectPolicy": "Open"}},
                "Approval": {"AutoApproveUpTo": "High"},
            },
            "Channels.WhatsApp.DirectPolicy Open",
            "calls of High risk included, without anybody being asked",
        ),
        (
            {"Channels": {"Telegram": {**TELEGRAM, "GroupPolicy": "All", "DirectPolicy": "Open"}}},
            "Channels.Telegram.GroupPolicy All",
            "every message of every group",
        ),
        (
            {"Hub": {"Users": [{**ADA, "Operator": False}, BOB]}},
            "Hub.Users without an operator",
            "they can only be rejected or expire",
        ),
        (
            {"Hub": {"Users": [ADA, BOB]}, "Approval": {"FourEyes": True}},
            "Approval.FourEyes with fewer than two operators",
            "another operator",
        ),
        (
            {"Providers": [{"Id": "p", "Type": "openai", "Keys": ["k"], "BaseUrl": "http://models.example/v1"}]},
            "Providers[p].BaseUrl with http",
            "unencrypted",
        ),
    ],
)
def test_a_dangerous_setting_is_named_with_what_it_permits(settings: dict[str, Any], path: str, permits: str) -> None:
    (found,) = [each for each in warnings(settings) if each.startswith(f"{path}: ")]
    assert permits in found


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"Approval": {"AutoApproveUpTo": "Medium"}},
        {"Retention": {"Audit": None}},
        {"Tools": {"FilesRoot": "data/files"}},
        {"Tools": {"FilesRoot": "/var/lib/sophon/files"}},
        {"Tools": {"FilesRoot": "/home/sophon/sophon/files", "AllowCidrs": ["64:ff9b::a01:203/128"]}},
        {"Hub": {"TrustedProxies": ["127.0.0.1", "172.18.0.0/16"], "Users": [ADA]}},
        {"Tools": {"AllowCidrs": ["10.1.2.3/32", "192.168.7.0/24"]}},
        {"Hub": {"Users": [ADA, BOB], "OpenAiApi": True, "AllowedOrigins": ["https://a.example"]}},
        {"Channels": {"Telegram": TELEGRAM}},
        {"Channels": {"Telegram": {"DirectPolicy": "Open"}}},
        {"Providers": [{"Id": "p", "Type": "openai", "Keys": ["k"], "BaseUrl": "http://127.0.0.1:9/v1"}]},
    ],
)
def test_usual_settings_are_not_reported(settings: dict[str, Any]) -> None:
    assert warnings(settings) == []


def test_a_link_to_the_root_is_seen_through(tmp_path: Path) -> None:
    (tmp_path / "files").symlink_to("/")
    settings = Settings.from_mapping({"Tools": {"FilesRoot": "files"}})
    (found,) = find_dangerous_settings(settings, folder=tmp_path)
    assert "every file of this machine" in found.permits


def test_every_id_of_the_catalog_is_that_of_a_finding_and_the_other_way_round() -> None:
    sources = [path.read_text() for path in Path(dangerous_settings.__file__).parent.glob("*.py")]
    yielded = {name for source in sources for name in re.findall(r'DangerousSetting\(\s*"(\w+)"', source)}
    guards = {guard_danger_id(field) for field in list_default_guards()}
    assert yielded | guards == set(list_dangers())
