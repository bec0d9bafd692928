"""What of the suite does not apply to Muninn, and why: one table.

A row excuses a failure by its cause: ``evidence`` must be what the suite says about the failed check. A scenario
that fails in any other way than the one named here counts as failed. Only rows without evidence excuse one whole.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Excuse:
    """``scenario`` is matched whole; ``evidence`` is looked for in the message of the failed check, None covers all."""

    scenario: str
    evidence: str | None
    reason: str

    def covers(self, scenario: str, message: str) -> bool:
        """Whether this row excuses a check that failed with this message."""
        if re.fullmatch(self.scenario, scenario) is None:
            return False
        return self.evidence is None or re.search(self.evidence, message) is not None


_NO_TOOL: Final = "Unknown tool: test_"
_NO_METHOD: Final = "Method not found"
_NO_RESOURCE: Final = r"no such resource; known are muninn://"

EXCUSED: Final = (
    Excuse(
        r"tools-call-(simple-text|image|audio|embedded-resource|mixed-content|error|with-progress)",
        _NO_TOOL,
        "calls a tool test_* of the suite's own example server; the door has only the tools of its vault",
    ),
    Excuse(
        r"tools-call-with-logging",
        _NO_METHOD,
        "the door sends no log messages to clients (capability logging is not declared)",
    ),
    Excuse(r"tools-call-sampling", _NO_TOOL, "the door never asks a client's model: no note's text leaves by that way"),
    Excuse(r"tools-call-elicitation|elicitation-.*", _NO_TOOL, "the door asks the person nothing: each call is whole"),
    Excuse(
        r"input-required-result-.*",
        rf"{_NO_TOOL}|{_NO_METHOD}|Expected InputRequiredResult with|could not get initial InputRequiredResult",
        "no tool of the door ever answers that it needs more input from the client",
    ),
    Excuse(r"prompts-.*", _NO_METHOD, "the door has no prompts (capability prompts is not declared)"),
    Excuse(
        r"caching",
        r"^prompts/list returned JSON-RPC error -32601",
        "the door has no prompts; tools and resources are checked",
    ),
    Excuse(r"completion-complete", _NO_METHOD, "the door completes no arguments (capability not declared)"),
    Excuse(r"logging-set-level", _NO_METHOD, "the door sends no log messages to clients (capability not declared)"),
    Excuse(
        r"resources-(subscribe|unsubscribe)",
        _NO_METHOD,
        "the door is stateless and notifies nobody (capability resources.subscribe is not declared)",
    ),
    Excuse(
        r"resources-read-(text|binary)|resources-templates-read",
        _NO_RESOURCE,
        "reads a test:// address of the suite's own example server; the door has muninn://contract and muninn://note/",
    ),
    Excuse(
        r"json-schema-2020-12",
        r"Tool 'json_schema_2020_12_tool' not found",
        "looks at a tool of the suite's own example server",
    ),
    Excuse(
        r"server-stateless",
        r"^Not testable: server does not list the diagnostic tool",
        "these checks need diagnostic tools of the suite's own example server; the scenario's other checks count",
    ),
    Excuse(
        r"http-custom-header-server-validation",
        r"^Not testable: server exposes no tool with x-mcp-header",
        "no tool of the door asks for an argument to be mirrored in a header",
    ),
    Excuse(
        r"(tasks|sep-2640)-.*",
        None,
        "an optional extension (tasks, skills) that the door does not have",
    ),
)


def excuse_for(scenario: str, message: str) -> Excuse | None:
    """The row that excuses a failed check, None where it counts."""
    return next((row for row in EXCUSED if row.covers(scenario, message)), None)


def excuse_for_all(scenario: str) -> Excuse | None:
    """The row that excuses a scenario whole, whatever it found."""
    return next((row for row in EXCUSED if row.evidence is None and row.covers(scenario, "")), None)
