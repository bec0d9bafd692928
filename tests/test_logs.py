"""A line of the log: one line whatever the record, without an exception's words or what other packages were sent."""

from __future__ import annotations

import io
import json
import logging
import sys
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from muninn import logs
from muninn.metrics import Metrics
from muninn.model.errors import SettingsError
from muninn.model.refusal import Code, Refusal
from muninn.recording import Recorder, calls

SECRET = "mnn_0123456789abcdef0123456789abcdef"


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    """What a gateway would write to stderr; everything is put back behind the test."""
    root = logging.getLogger()
    handlers, level, raising, hook = root.handlers[:], root.level, logging.raiseExceptions, threading.excepthook
    guests = {name: logging.getLogger(name).level for name in ("mcp", "uvicorn", "httpx2", "asyncio", "watchfiles")}
    made = io.StringIO()
    root.handlers = []
    logs.start("info", made)
    yield made
    logging.captureWarnings(False)
    root.handlers, logging.raiseExceptions, threading.excepthook = handlers, raising, hook
    root.setLevel(level)
    for name, was in guests.items():
        logging.getLogger(name).setLevel(was)


def told(stream: io.StringIO) -> list[dict[str, Any]]:
    text = stream.getvalue()
    assert text.isascii()
    assert text.endswith("\n")
    return [json.loads(line) for line in text[:-1].split("\n")]


def test_a_line_says_when_how_grave_and_who(stream: io.StringIO) -> None:
    logging.getLogger("muninn.x").warning("a %s", "thing", extra={"reason": "none"})
    (line,) = told(stream)
    assert line["at"].endswith("Z")
    assert len(line["at"]) == len("2026-05-04T12:00:00.000Z")
    del line["at"]
    assert line == {"level": "WARNING", "logger": "muninn.x", "message": "a thing", "reason": "none"}


def test_whatever_is_said_stays_one_line_of_ascii(stream: io.StringIO) -> None:
    said = "a\r\nb\u2028c\x85d\x1b[31m\u00e9\u202e\x00"
    logging.getLogger("muninn.x").warning("%s", said, extra={"reason": said})
    (line,) = told(stream)
    assert (line["message"], line["reason"]) == (said, said)
    assert stream.getvalue()[:-1].isprintable()


def test_an_exception_is_told_by_type_and_place_without_its_message(stream: io.StringIO) -> None:
    try:
        try:
            raise KeyError(SECRET)
        except KeyError as error:
            raise ExceptionGroup(SECRET, [ValueError(SECRET)]) from error
    except ExceptionGroup:
        logging.getLogger("muninn.x").exception("a bug")
    (line,) = told(stream)
    heads = [entry for entry in line["trace"] if entry.startswith("Traceback: ")]
    assert heads == ["Traceback: KeyError", "Traceback: ValueError", "Traceback: ExceptionGroup"]
    assert any("test_logs.py:" in entry and "in test_an_exception" in entry for entry in line["trace"])
    assert SECRET not in stream.getvalue()


def test_a_chain_of_exceptions_that_never_ends_is_cut(stream: io.StringIO) -> None:
    one, other = ValueError("a"), ValueError("b")
    one.__cause__, other.__cause__ = other, one
    logging.getLogger("muninn.x").error("a bug", exc_info=one)
    assert len(told(stream)[0]["trace"]) == 8


def test_what_other_packages_say_is_told_without_what_they_put_into_it(stream: io.StringIO) -> None:
    logging.getLogger("mcp.server.runner").warning("dropped %r: malformed params", SECRET)
    logging.getLogger("asyncio").error(f"Task exception was never retrieved\nfuture: <Task exception=X({SECRET})>")
    logging.getLogger("mcp.server").info("not even said")
    said = [line["message"] for line in told(stream)]
    assert said == ["dropped %r: malformed params", "Task exception was never retrieved"]


def test_a_warning_and_a_thread_that_dies_are_lines_too(stream: io.StringIO) -> None:
    def die() -> None:
        raise ValueError(SECRET)

    thread = threading.Thread(target=die, name="scan")
    thread.start()
    thread.join()
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        logging.captureWarnings(False)
        logging.captureWarnings(True)
        warnings.warn("old\nthing", stacklevel=1)
    died, warned = told(stream)
    assert (died["message"], died["trace"][0]) == ("a thread ended with a bug: scan", "Traceback: ValueError")
    assert warned["logger"] == "py.warnings"
    assert SECRET not in stream.getvalue()


def test_a_stream_that_is_gone_prints_nothing_beside_it(
    stream: io.StringIO, capsys: pytest.CaptureFixture[str]
) -> None:
    stream.close()
    logging.getLogger("muninn.x").warning("a %s", SECRET)
    assert SECRET not in capsys.readouterr().err


@pytest.mark.parametrize("level", ["loud", "", "notset", "critical\n"])
def test_another_level_is_refused(level: str) -> None:
    with pytest.raises(SettingsError, match="must be debug, info, warning or error"):
        logs.start(level, sys.stderr)


def test_the_key_is_made_once_and_kept(tmp_path: Path) -> None:
    key = logs.path_key(tmp_path)
    assert logs.path_key(tmp_path) == key
    assert len(key) == 32


@pytest.mark.parametrize("content", [b"", b"abcd", b"\xff\xfe", b"zz" * 32])
def test_a_key_that_is_none_is_left_alone_and_told(
    tmp_path: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "log.key").write_bytes(content)
    assert logs.path_key(tmp_path) != logs.path_key(tmp_path)
    assert (tmp_path / "log.key").read_bytes() == content
    assert "other hashes until the next start" in caplog.text


@pytest.mark.parametrize("value", [None, 1, ["a.md"], "", "a" * 5000])
def test_what_is_no_path_has_no_hash(value: object) -> None:
    assert logs.hashed(bytes(32), value) is None


def test_a_lone_surrogate_has_a_hash() -> None:
    assert logs.hashed(bytes(32), "\ud800.md") is not None


def test_a_call_is_counted_though_no_line_is_asked_for(caplog: pytest.LogCaptureFixture) -> None:
    recorder = Recorder(Metrics(["read"]), bytes(32))
    caplog.set_level(logging.ERROR, logger=calls.name)
    recorder.ended(recorder.asked("id", "a", "read"), Refusal(Code.NOT_FOUND, "no"))
    assert caplog.records == []
    assert b'muninn_refusals_total{code="not_found"} 1.0' in recorder.metrics.counts()
    assert bytes(32).hex() not in repr(recorder)
    assert repr(bytes(32)) not in repr(recorder)
