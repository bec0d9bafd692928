"""The pictures of the documentation: the console on the sample vault after a made-up day, light, dark, on a phone."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from tests.browser import driving, staging
from tests.browser.driving import DESK, PHONE, Visitor

MOST_BYTES: Final = 150 * 1024
_SHOTS: Final[tuple[tuple[str, str, dict[str, str], str], ...]] = (
    ("home", "", {}, "light"),
    ("search-phone", "/search", {"q": "at which residual does a surge alert go out?"}, "phone"),
    ("activity", "/activity", {}, "light"),
    ("activity-phone", "/activity", {}, "phone"),
    ("bound", "/bound", {}, "light"),
    ("undo", "/undo", {"who": "scribe", "since": "1h"}, "light"),
    ("undo-dark", "/undo", {"who": "scribe", "since": "1h"}, "dark"),
)
_LOOKS: Final[dict[str, dict[str, Any]]] = {
    "light": {"viewport": DESK, "color_scheme": "light"},
    "dark": {"viewport": DESK, "color_scheme": "dark"},
    "phone": {"viewport": PHONE, "color_scheme": "light", "device_scale_factor": 1.5},
}


def take(folder: Path, target: Path) -> None:
    """Write every picture anew. Raises AssertionError for one that is too large to be kept."""
    target.mkdir(parents=True, exist_ok=True)
    with driving.browser() as chromium, staging.staged(folder) as stage:
        staging.worked(stage)
        for look, options in _LOOKS.items():
            with driving.visitor(chromium, stage, **options) as visitor:
                visitor.log_in()
                for name, path, query, wanted in _SHOTS:
                    if wanted == look:
                        _shoot(visitor, target / f"console-{name}.png", path, query)


def _shoot(visitor: Visitor, file: Path, path: str, query: dict[str, str]) -> None:
    assert visitor.go(path, **query) == 200
    visitor.page.screenshot(path=file, animations="disabled")
    size = file.stat().st_size
    assert size <= MOST_BYTES, f"{file.name} has {size} bytes"
    print(f"{file.name}: {size // 1024} KiB", flush=True)
