"""Flag beats environment beats file beats default, and every wrong setting is named."""

from pathlib import Path

import pytest

from muninn.model.errors import SettingsError
from muninn.settings import SETTINGS, load, read_file


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def test_a_flag_goes_before_the_environment_before_the_file(home: Path, tmp_path: Path) -> None:
    (home / "muninn.toml").write_text(f'cache = "{tmp_path}/from-file"\n')
    environment = {"MUNINN_HOME": str(home), "MUNINN_VAULT": str(tmp_path / "from-environment")}
    found = load(environment, None, None, None).places
    assert found.cache == tmp_path / "from-file"
    assert found.vault == tmp_path / "from-environment"
    environment["MUNINN_CACHE"] = str(tmp_path / "cache-from-environment")
    assert load(environment, None, None, None).places.cache == tmp_path / "cache-from-environment"
    assert load(environment, str(tmp_path / "flag"), None, str(tmp_path / "c")).places.vault == tmp_path / "flag"


def test_an_absent_file_gives_every_default(home: Path) -> None:
    assert read_file(home / "muninn.toml") == {setting.key: setting.default for setting in SETTINGS}


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("folder_idx = 'x.md'\n", "folder_idx"),
        ("folder_index = 'x'\n", "folder_index"),
        ("folder_index = true\n", "folder_index"),
        ("baseline = 1\n", "baseline"),
        ("private = 'private/'\n", "private"),
        ("rate_per_s = -1\n", "rate_per_s"),
        ("[contract]\ntags_min = 6\n", "tags_min"),
        ("[contract]\ntypes = [1]\n", "contract.types"),
        ("= broken\n", "muninn.toml"),
    ],
)
def test_a_wrong_setting_is_named(home: Path, text: str, named: str) -> None:
    (home / "muninn.toml").write_text(text)
    with pytest.raises(SettingsError, match=named):
        read_file(home / "muninn.toml")


def test_a_file_that_cannot_be_read_is_said_with_the_place_to_look_at(home: Path) -> None:
    (home / "muninn.toml").mkdir()
    with pytest.raises(SettingsError, match=r"muninn\.toml cannot be read: .*look at --home"):
        read_file(home / "muninn.toml")


@pytest.mark.parametrize("inside", ["home", "cache"])
def test_home_and_cache_may_not_lie_inside_the_vault(tmp_path: Path, inside: str) -> None:
    places = {"home": tmp_path / "h", "cache": tmp_path / "c"} | {inside: tmp_path / "vault" / "x"}
    with pytest.raises(SettingsError, match="inside each other"):
        load({}, str(tmp_path / "vault"), str(places["home"]), str(places["cache"]))


def test_the_vault_may_not_lie_inside_the_home_nor_behind_a_link_into_it(tmp_path: Path) -> None:
    (tmp_path / "home" / "notes").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "home" / "notes")
    with pytest.raises(SettingsError, match="inside each other"):
        load({}, str(tmp_path / "link"), str(tmp_path / "home"), str(tmp_path / "cache"))


def test_the_owners_rules_reach_the_contract(home: Path) -> None:
    (home / "muninn.toml").write_text('folder_index = false\n[contract]\ntypes = ["note"]\n')
    contract = load({"MUNINN_HOME": str(home)}, None, None, None).contract()
    assert contract.folder_page is None
    assert contract.version.startswith("1+")
