"""Every module of the door has its layer, and is kept from the protocol's packages where it does not speak it."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[1]
SPEAKS: Final = {"app", "arguments", "auth", "claim_tools", "lanes", "patience", "protocol", "tool", "tools", "web"}
"""Modules that may import what the protocol is made of."""


def _contracts() -> list[dict[str, Any]]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    found: list[dict[str, Any]] = settings["tool"]["importlinter"]["contracts"]
    return found


def _modules() -> set[str]:
    files = (file.stem for file in (ROOT / "muninn").glob("*.py"))
    packages = (file.parent.name for file in (ROOT / "muninn").glob("*/__init__.py"))
    return {f"muninn.{name}" for name in (*files, *packages)} - {"muninn.__init__", "muninn.__main__"}


def test_every_module_has_its_layer() -> None:
    (layers,) = (one["layers"] for one in _contracts() if one["type"] == "layers" and "muninn.cli" in one["layers"])
    placed = [name for layer in layers for name in layer.split(" | ") if name.startswith("muninn.")]
    assert sorted(placed) == sorted(_modules())


def test_every_module_that_does_not_speak_the_protocol_is_kept_from_it() -> None:
    (kept,) = (one["source_modules"] for one in _contracts() if "starlette" in one.get("forbidden_modules", ()))
    named = {name for name in kept if name.startswith("muninn.")}
    assert named == _modules() - {f"muninn.{name}" for name in SPEAKS | {"cli"}}
