"""The tools as clients see them, pinned: ``python -m tests.manifest`` writes the pin anew.

Names, descriptions and schemas are what other people's prompts and programs rely on, so that a change of them is
made on purpose and seen in review.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from muninn.protocol import INSTRUCTIONS, described
from muninn.tools import TOOLS

PIN: Final = Path(__file__).with_name("manifest.json")


def manifest() -> dict[str, Any]:
    """Instructions and tools as they go over the wire."""
    tools = [described(tool).model_dump(mode="json", by_alias=True, exclude_none=True) for tool in TOOLS]
    return {"instructions": INSTRUCTIONS, "tools": tools}


def text() -> str:
    """The manifest as the pin holds it."""
    return json.dumps(manifest(), indent=1, ensure_ascii=False, sort_keys=True) + "\n"


if __name__ == "__main__":
    PIN.write_text(text(), encoding="utf-8")
