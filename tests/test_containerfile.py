"""The Containerfile: what it copies is there, what it installs is pinned, and what it starts is a command of ours."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

import click
import pytest

from muninn.cli import command

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class Line:
    """One instruction. ``stage`` counts from 0."""

    stage: int
    word: str
    rest: str


@pytest.fixture(scope="module")
def lines() -> list[Line]:
    text = (ROOT / "Containerfile").read_text(encoding="utf-8")
    whole = re.sub(r"^#.*\n", "", text, flags=re.MULTILINE)
    found, stage = [], -1
    for line in re.sub(r"\\\n\s*", " ", whole).splitlines():
        if line.strip():
            word, _, rest = line.partition(" ")
            stage += word == "FROM"
            found.append(Line(stage, word, rest.strip()))
    return found


def of(lines: list[Line], word: str, stage: int | None = None) -> list[str]:
    return [line.rest for line in lines if line.word == word and stage in (None, line.stage)]


def final(lines: list[Line]) -> int:
    return max(line.stage for line in lines)


def test_everything_that_is_installed_is_pinned_or_our_own(lines: list[Line]) -> None:
    runs = [step.strip() for rest in of(lines, "RUN") for step in rest.split("&&")]
    installs = [step for step in runs if " pip install " in step or " pip wheel " in step]
    assert len(installs) == 4
    for step in installs:
        assert ("--require-hashes" in step and "--only-binary :all:" in step) or (
            "--no-index" in step and "--no-deps" in step
        ), step


def test_what_runs_is_part_of_what_is_tested() -> None:
    def pins(name: str) -> set[tuple[str, str]]:
        text = (ROOT / name).read_text(encoding="utf-8")
        return set(re.findall(r"^([a-z0-9.-]+)==(\S+)", text, re.MULTILINE))

    assert pins("requirements-run.lock") <= pins("requirements.lock")
    run = {name for name, _ in pins("requirements-run.lock")}
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    names = {re.split(r"[><=;\[ ]", one)[0].lower() for one in wanted}
    assert names <= run
    assert not {"pytest", "mypy", "ruff", "hatchling", "uv"} & run


def test_what_is_copied_is_there_and_goes_to_the_builder(lines: list[Line]) -> None:
    rules = (ROOT / ".containerignore").read_text(encoding="utf-8").splitlines()
    kept = [rule[1:] for rule in rules if rule.startswith("!")]
    assert "*" in rules
    for rest in of(lines, "COPY", 0):
        for name in rest.split()[:-1]:
            assert (ROOT / name).exists(), name
            assert any(fnmatch(name, rule) for rule in kept), name
    assert not {".run", ".git", ".venv", "tests"} & set(kept)
    assert (ROOT / ".dockerignore").resolve() == (ROOT / ".containerignore").resolve()


def test_every_package_of_the_wheel_is_copied(lines: list[Line]) -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    copied = {name for rest in of(lines, "COPY", 0) for name in rest.split()[:-1]}
    assert set(settings["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]) <= copied


def test_the_last_layer_is_nobodys_root_and_has_no_secret(lines: list[Line]) -> None:
    last = final(lines)
    assert last == 1
    (user,) = of(lines, "USER", last)
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", user)
    assert json.loads(of(lines, "VOLUME", last)[0]) == ["/vault", "/var/lib/muninn", "/cache"]
    assert not re.search(r"(?i)token|secret|password", " ".join(of(lines, "ENV") + of(lines, "ARG")))
    assert not [rest for rest in of(lines, "RUN", last) if re.search(r"\b(gcc|g\+\+|build-essential|make)\b", rest)]


def test_its_health_is_asked_without_a_shell(lines: list[Line]) -> None:
    (check,) = of(lines, "HEALTHCHECK")
    words = json.loads(check[check.index("[") :])
    assert words[:3] == ["python", "-I", "-c"]
    compile(words[3], "HEALTHCHECK", "exec")
    assert "/health" in words[3]


def test_what_it_starts_is_a_command_of_ours(lines: list[Line]) -> None:
    (entry,), (start,) = of(lines, "ENTRYPOINT"), of(lines, "CMD")
    assert json.loads(entry)[0].endswith("/muninn")
    words = json.loads(start)
    assert isinstance(command, click.Group)
    serve = command.get_command(click.Context(command), words[0])
    assert serve is not None
    # A command keeps the first help option it made, so it is parsed as below ``muninn``.
    with command.make_context("muninn", [words[0]], resilient_parsing=True) as above:
        serve.make_context("serve", words[1:], parent=above)
    assert "--behind-proxy" in words
