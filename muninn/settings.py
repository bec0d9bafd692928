"""Where things are and what the owner chose: read once, from flag, environment, ``muninn.toml`` and default.

The only reader of environment and settings file. What is read becomes frozen values; each package is
handed its slice.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from muninn.model.errors import SettingsError, reason
from muninn.model.rights import Globs

if TYPE_CHECKING:
    from muninn.contract import Contract, OwnerRules

FILE: Final = "muninn.toml"
LANGUAGES: Final = frozenset(
    [
        "danish",
        "dutch",
        "english",
        "finnish",
        "french",
        "german",
        "hungarian",
        "italian",
        "norwegian",
        "portuguese",
        "romanian",
        "russian",
        "spanish",
        "swedish",
        "turkish",
    ]
)
"""Languages with a stemmer and a list of stop words."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One key of ``muninn.toml``: from these rows the check, the help and the reference page are made."""

    key: str
    default: Any
    says: str
    check: Callable[[Any], bool] = field(repr=False)
    expects: str


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(_is_text(item) for item in value)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_page(value: Any) -> bool:
    return value is False or (_is_text(value) and value.endswith(".md") and "/" not in value)


def _is_language(value: Any) -> bool:
    return isinstance(value, str) and value.lower() in {"auto", *LANGUAGES}


def _is_switch(value: Any) -> bool:
    return isinstance(value, bool)


_LANGUAGES: Final = "auto or one of " + ", ".join(sorted(LANGUAGES))

SETTINGS: Final = (
    Setting("vault", None, "the vault's folder (--vault, MUNINN_VAULT go before)", _is_text, "a path"),
    Setting("cache", None, "the folder of the index (--cache, MUNINN_CACHE go before)", _is_text, "a path"),
    Setting("folder_index", "index.md", "name of the folder's page; false for none", _is_page, "NAME.md or false"),
    Setting("private", ["private/"], "globs of paths that need the scope private", _is_texts, "a list of globs"),
    Setting("baseline", True, "keep every note's bytes once, in the background", _is_switch, "true or false"),
    Setting(
        "retired",
        ["superseded", "archived", "retracted"],
        "values of `status` that a search leaves out unless it asks for them",
        _is_texts,
        "a list of words",
    ),
    Setting("language", "auto", "all notes' language; auto finds out each one's", _is_language, _LANGUAGES),
    Setting("logs", [], "globs of daily logs, which count half in a search", _is_texts, "a list of globs"),
    Setting("rate_per_s", 200, "calls a second one client may make; 0 for no limit", _is_count, "a whole number"),
    Setting("rate_burst", 400, "calls a client may make at once above that rate", _is_count, "a whole number"),
    Setting(
        "console", True, "serve the web console at /console (--no-console goes before)", _is_switch, "true or false"
    ),
    Setting("search.hybrid", True, "use vectors beside words, once an encoder was added", _is_switch, "true or false"),
    Setting("search.rerank", True, "let a reranker order close calls, once there is one", _is_switch, "true or false"),
    Setting("rerank.url", None, "an endpoint that orders close calls, in place of a model here", _is_text, "a URL"),
    Setting("rerank.model", None, "the name of the model to ask that endpoint for", _is_text, "a name"),
    Setting("rerank.token_file", None, "a file of mode 0600 with the endpoint's token", _is_text, "a path"),
    Setting(
        "rerank.allow_plain", False, "allow http to another machine: texts travel in clear", _is_switch, "true or false"
    ),
    Setting("rerank.budget_ms", 1500, "how long a search waits for a reranker, in ms", _is_count, "a whole number"),
    Setting("contract.types", [], "the only values of `type`; empty for any", _is_texts, "a list of words"),
    Setting("contract.statuses", [], "the only values of `status`; empty for any", _is_texts, "a list of words"),
    Setting("contract.tags_min", 2, "how many tags a note needs", _is_count, "a whole number"),
    Setting("contract.tags_max", 5, "how many tags a note may have", _is_count, "a whole number"),
    Setting("contract.exempt", [], "globs of notes that need not meet the contract", _is_texts, "a list of globs"),
)


@dataclass(frozen=True, slots=True)
class Places:
    """The three folders of an installation. Home and cache are made when they are first written to."""

    vault: Path | None
    home: Path
    cache: Path

    @property
    def ledger(self) -> Path:
        return self.home / "ledger.db"

    @property
    def ledger_key(self) -> Path:
        return self.home / "ledger.key"

    @property
    def clients(self) -> Path:
        return self.home / "clients.toml"

    @property
    def lease(self) -> Path:
        return self.home / "gateway.json"


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything the owner chose."""

    places: Places
    values: Mapping[str, Any]
    rerank_token: str | None = field(default=None, repr=False)
    """The token of the reranker's endpoint, where the environment holds it."""
    test_reranker: Path | None = None
    """The file in which the test build's reranker writes down what it is handed."""

    def contract(self) -> Contract:
        """The contract with the owner's rules."""
        # A search on every prompt needs no contract, and its rules are a tenth of what it would import.
        from muninn.contract import build

        return build(self.owner_rules(), self.values["folder_index"] or None, self.values["private"])

    def owner_rules(self) -> OwnerRules:
        """What the owner narrowed or relaxed of the contract."""
        from muninn.contract import OwnerRules

        values = self.values
        return OwnerRules(
            tuple(values["contract.types"]),
            tuple(values["contract.statuses"]),
            values["contract.tags_min"],
            values["contract.tags_max"],
            tuple(values["contract.exempt"]),
        )

    @property
    def private(self) -> Globs:
        """The paths that need the scope ``private``."""
        return Globs(tuple(self.values["private"]))


def load(
    environment: Mapping[str, str],
    vault: str | None,
    home: str | None,
    cache: str | None,
    *,
    read: Callable[[Path], dict[str, Any]] | None = None,
) -> Settings:
    """Read the settings: a flag (the arguments) goes before the environment, that before ``muninn.toml``.

    ``read`` reads the file, ``read_file`` where none is given. Raises SettingsError that names the key or flag, what
    was expected and what was found.
    """
    home_path = _place(home or environment.get("MUNINN_HOME") or _platform_folder("data"))
    values = (read or read_file)(home_path / FILE)
    vault_text = vault or environment.get("MUNINN_VAULT") or values["vault"]
    vault_path = _place(vault_text) if vault_text else None
    cache_path = _place(cache or environment.get("MUNINN_CACHE") or values["cache"] or _default_cache(vault_path))
    places = Places(vault_path, home_path, cache_path)
    _refuse_nesting(places)
    tested = environment.get("MUNINN_TEST_RERANKER") if environment.get("MUNINN_TEST") == "1" else None
    return Settings(places, values, environment.get("MUNINN_RERANK_TOKEN") or None, Path(tested) if tested else None)


def _platform_folder(kind: Literal["data", "cache"]) -> str:
    # Asked for only where neither flag nor environment names the place.
    import platformdirs

    return platformdirs.user_data_dir("muninn") if kind == "data" else platformdirs.user_cache_dir("muninn")


def _default_cache(vault: Path | None) -> str:
    """The platform's cache folder, with a folder for each vault, so that two gateways never share an index."""
    place = _platform_folder("cache")
    return place if vault is None else f"{place}/{hashlib.sha256(str(vault.resolve()).encode()).hexdigest()[:12]}"


def read_file(path: Path) -> dict[str, Any]:
    """Every setting of the file, defaults for the rest. An absent file is all defaults."""
    try:
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return {setting.key: setting.default for setting in SETTINGS}
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {reason(error)}; look at --home and its rights") from error
    except UnicodeDecodeError as error:
        raise SettingsError(f"{path.name} cannot be read: {error}") from error
    # Most homes have no such file, and the parser costs a search a tenth of its time.
    import tomllib

    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{path.name} cannot be read: {error}") from error
    flat = _flattened(found)
    known = {setting.key: setting for setting in SETTINGS}
    for key, value in flat.items():
        if key not in known:
            raise SettingsError(f"{path.name}: {key} is not a setting; known are {', '.join(known)}")
        if not known[key].check(value):
            raise SettingsError(f"{path.name}: {key} must be {known[key].expects}, found {value!r}")
    values = {key: flat.get(key, setting.default) for key, setting in known.items()}
    if values["contract.tags_min"] > values["contract.tags_max"]:
        raise SettingsError(f"{path.name}: contract.tags_min is larger than contract.tags_max")
    return values


def _flattened(found: Mapping[str, Any]) -> dict[str, Any]:
    """Tables of one level as dotted keys."""
    flat: dict[str, Any] = {}
    for key, value in found.items():
        if isinstance(value, dict):
            flat |= {f"{key}.{inner}": item for inner, item in value.items()}
        else:
            flat[key] = value
    return flat


def _place(text: str) -> Path:
    return Path(text).expanduser().absolute()


def _refuse_nesting(places: Places) -> None:
    """None of home and cache may lie inside the vault, nor the vault in one of them."""
    if places.vault is None:
        return
    vault = places.vault.resolve()
    for name, place in (("home", places.home.resolve()), ("cache", places.cache.resolve())):
        if place == vault or place.is_relative_to(vault) or vault.is_relative_to(place):
            raise SettingsError(
                f"the {name} {place} and the vault {vault} lie inside each other; keep them apart, "
                f"with --{name} or MUNINN_{name.upper()}" + (" (with make: HOME_DIR=DIR)" if name == "home" else "")
            )
