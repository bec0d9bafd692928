"""Where a run happens: a vault, a home and a cache in a folder of its own, and the door to them."""

from __future__ import annotations

import random
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from muninn import clients, opening, tools
from muninn.door import Door
from muninn.model.refusal import Refusal
from muninn.model.rights import SCOPES, Rights
from muninn.settings import load
from muninn.tool import Call

from . import bare, laying

_SETTLED_S: Final = 2.2
"""Files that are younger than the last scan by less than two seconds are read again by the next one."""


_CLIENT: Final = "bench"


@dataclass(frozen=True, slots=True)
class Place:
    """``notes`` are the paths of all notes, ``text`` their bytes in all; ``token`` belongs to the home's ``client``."""

    folder: Path
    notes: tuple[str, ...]
    text: int
    token: str
    client: str = _CLIENT

    @property
    def root(self) -> Path:
        return self.folder / "vault"

    @property
    def cache(self) -> Path:
        return self.folder / "cache"

    @property
    def environment(self) -> dict[str, str]:
        """What a process of the product needs to find this place."""
        return {
            "MUNINN_VAULT": str(self.root),
            "MUNINN_HOME": str(self.folder / "home"),
            "MUNINN_CACHE": str(self.cache),
        }

    def door(self) -> Door:
        """The door, opened as a gateway does it."""
        return opening.for_serving(load(self.environment, None, None, None))

    def rights(self) -> Rights:
        """An ordinary client's rights."""
        found = load(self.environment, None, None, None)
        return Rights(_CLIENT, frozenset(SCOPES) - {"private"}, private_paths=found.private)

    def own_notes(self) -> list[str]:
        """The notes that measures may change."""
        return [path for path in self.notes if path.startswith(f"{laying.WRITES}/") and not path.endswith("index.md")]


def make(folder: Path, notes: int, vault: Path | None) -> Place:
    """Lay out a made-up vault, or a copy of the one given; it is never changed itself. A client has no rate limit."""
    root, home = folder / "vault", folder / "home"
    if vault is None:
        root.mkdir()
        laying.lay(root, notes)
    else:
        shutil.copytree(vault, root, symlinks=True, ignore=shutil.ignore_patterns(".git", ".muninn-vault"))
        tongue = laying.Tongue(7)
        (root / laying.WRITES).mkdir()
        for number in range(40):
            name = f"{tongue.words[50 + number]}-{number}"
            (root / laying.WRITES / f"{name}.md").write_text(laying.note(tongue, name, []), encoding="utf-8")
    home.mkdir(mode=0o700)
    (home / "muninn.toml").write_text("rate_per_s = 0\n")
    token = clients.new_token()
    client = clients.make(_CLIENT, token)
    clients.save(home / "clients.toml", clients.added({}, client))
    paths = tuple(bare.notes_below(root))
    text = sum((root / path).stat().st_size for path in paths)
    time.sleep(_SETTLED_S)
    return Place(folder, paths, text, token)


def call(door: Door, rights: Rights, tool: str, arguments: Mapping[str, Any]) -> Any:
    """One call of a tool, as the protocol's edge makes it. A refusal is raised: no measure is for one."""
    answer = tools.run(tools.BY_NAME[tool], Call(door, rights), dict(arguments))
    if isinstance(answer, Refusal):
        raise ValueError(f"{tool} refused: {answer.message}")
    return answer


def questions(place: Place, count: int) -> list[str]:
    """Questions in plain words: a few neighbouring telling words of some note between function words."""
    pick = random.Random(11)
    found = []
    for path in pick.choices(place.notes, k=count):
        text = bare.columns((place.root / path).read_bytes())[3]
        words = [word for word in text.split() if word.isalpha() and word.lower() not in laying.FUNCTION_WORDS]
        start = pick.randrange(max(1, len(words) - 5))
        telling = words[start : start + pick.randint(2, 5)] or [Path(path).stem]
        found.append(f"what is the {telling[0]} of " + " ".join(telling[1:]) + " and when was it?")
    return found


def nasty(common: list[str]) -> dict[str, str]:
    """The questions that are meant to hurt: function words only, words that stand in every note, very many words."""
    return {
        "function words": " ".join(laying.FUNCTION_WORDS[:17]),
        "12 ubiquitous words": " ".join(common[:12]),
        "one ubiquitous word": common[0] if common else "the",
        "2,000 words": " ".join(common[number % max(1, len(common))] for number in range(2_000)),
        "40 words": " ".join(common[:40]),
        "one letter": "x",
        "typing errors": " ".join(word[:-1] + "qx" for word in common[:12]),
    }
