"""The documents keep up with the code: the reference is fresh, links lead somewhere, what is named exists."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from muninn import logs
from muninn.cli import command
from muninn.metrics import BUILD, COUNTED, LOOKED, STARTED
from muninn.model.refusal import Code
from muninn.model.rights import SCOPES
from muninn.settings import SETTINGS
from muninn.tools import TOOLS
from tests import render_docs

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")])
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]

_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"`[^`\n]*`")
_LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)
_WARN = re.compile(r'\bWarn\(\s*"([a-z_]+)"')
_MACHINE = re.compile(r"/(?:work|root)/|/home/\w+/|/Users/\w+/|/tmp/bash_jobs")


def prose(text: str) -> str:
    """A page without its code."""
    return _SPAN.sub("", _FENCE.sub("", text))


def anchors(page: Path) -> set[str]:
    """The anchors that headings of a page get."""
    titles = _HEADING.findall(_FENCE.sub("", page.read_text(encoding="utf-8")))
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def command_lines(text: str) -> Iterator[list[str]]:
    """The words of every ``muninn …`` that stands at the beginning of a line of code."""
    for block in _FENCE.findall(text):
        joined = block.replace("\\\n", " ")
        for line in joined.splitlines():
            found = re.match(r"(?:\$ )?(?:\.venv/bin/)?muninn (.*)", line)
            if found:
                yield shlex.split(re.split(r" [|>&]|  #", found[1])[0])


def reference() -> str:
    """All pages of the reference as one text."""
    return "".join(page.read_text(encoding="utf-8") for page in sorted(render_docs.FOLDER.glob("*.md")))


def test_the_reference_is_fresh() -> None:
    assert render_docs.stale() == [], "run: make docs"


def test_a_stale_page_is_found(tmp_path: Path) -> None:
    for name, page in render_docs.PAGES.items():
        (tmp_path / name).write_text(page(), encoding="utf-8")
    (tmp_path / "tools.md").write_text("old", encoding="utf-8")
    (tmp_path / "settings.md").unlink()
    assert render_docs.stale(tmp_path) == ["tools.md", "settings.md"]


def test_no_page_of_the_reference_is_left_over() -> None:
    assert {page.name for page in render_docs.FOLDER.glob("*.md")} == set(render_docs.PAGES)


def test_every_code_scope_and_warning_has_a_meaning() -> None:
    assert set(render_docs.MEANINGS) == set(Code)
    assert set(render_docs.SCOPE_MEANINGS) == set(SCOPES)
    sources = [page for folder in ("muninn", "ledger", "index") for page in (ROOT / folder).rglob("*.py")]
    given = {code for source in sources for code in _WARN.findall(source.read_text(encoding="utf-8"))}
    assert set(render_docs.WARNINGS) == given


def test_everything_is_named_in_the_reference() -> None:
    text = reference()
    names = [tool.name for tool in TOOLS] + [code.value for code in Code] + [row.key for row in SETTINGS]
    names += [series.name for series in COUNTED] + [row.series.name for row in LOOKED]
    assert [name for name in names if f"`{name}`" not in text] == []
    titles = [" ".join(names) for names, _ in render_docs.commands()]
    assert [title for title in titles if f"## {title}\n" not in text] == []


def test_every_field_that_is_logged_is_described() -> None:
    sources = [page for folder in ("muninn", "ledger", "index", "sandbox") for page in (ROOT / folder).rglob("*.py")]
    given = [found for page in sources for found in re.findall(r"extra=\{([^}]*)\}", page.read_text(encoding="utf-8"))]
    logged = {name for text in given for name in re.findall(r'"([a-z_]+)":', text)}
    assert {"request", "port", "pending_id"} <= logged
    assert logged <= {*logs.FIELDS, *logs.CALL_FIELDS, *logs.MORE_FIELDS}


def test_metrics_that_a_page_names_exist() -> None:
    defined = {series.name for series in (*COUNTED, *(row.series for row in LOOKED), STARTED, BUILD)}
    for page in PAGES:
        named = re.findall(r"\bmuninn_[a-z_]+[a-z]\b", "".join(_FENCE.findall(page.read_text(encoding="utf-8"))))
        assert {re.sub(r"_(bucket|sum|count)$", "", name) for name in named} <= defined, page.name


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_links_lead_somewhere(page: Path) -> None:
    for link in _LINK.findall(prose(page.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name) if name else page
        assert target.exists(), f"{page.name}: {link} leads nowhere"
        assert not anchor or anchor in anchors(target), f"{page.name}: {link} names no heading"


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_no_page_names_a_place_on_one_machine(page: Path) -> None:
    assert _MACHINE.search(page.read_text(encoding="utf-8")) is None


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_make_targets_exist(page: Path) -> None:
    known = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    text = page.read_text(encoding="utf-8")
    code = "\n".join([*_FENCE.findall(text), *_SPAN.findall(_FENCE.sub("", text))])
    assert set(re.findall(r"(?:^|`)make ([a-z-]+)", code, re.MULTILINE)) <= known


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.parent != render_docs.FOLDER], ids=lambda page: page.stem
)
def test_commands_and_their_options_exist(page: Path) -> None:
    for words in command_lines(page.read_text(encoding="utf-8")):
        found: click.Command = command
        while isinstance(found, click.Group) and words and not words[0].startswith("-"):
            inner = found.get_command(click.Context(found), words[0])
            assert inner is not None, f"{page.name}: muninn has no command {words[0]}"
            found, words = inner, words[1:]
        known = {name for option in found.params for name in option.opts} | {"--help", "-h"}
        strange = [word for word in words if re.match(r"--\w", word) and word.partition("=")[0] not in known]
        assert strange == [], f"{page.name}: {found.name} has no {strange}"


def test_every_page_can_be_reached_from_the_readme() -> None:
    seen: set[Path] = set()
    waiting = [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in seen or page.suffix != ".md":
            continue
        seen.add(page)
        links = _LINK.findall(prose(page.read_text(encoding="utf-8")))
        named = ((page.parent / link.partition("#")[0]).resolve() for link in links if not re.match(r"[a-z]+:", link))
        waiting += [target for target in named if target.is_file()]
    assert sorted(str(page.relative_to(ROOT)) for page in set(PAGES) - seen) == []


def test_the_readme_fits_a_screen() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 70


def test_every_picture_is_shown_somewhere_and_small() -> None:
    pictures = sorted((ROOT / "docs" / "images").glob("*"))
    shown = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert [picture.name for picture in pictures if f"images/{picture.name})" not in shown] == []
    assert all(picture.stat().st_size <= 150 * 1024 for picture in pictures)
