"""What the doctor says of a sound model, a broken one, and a machine that is partly in the dark."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest

import app.doctor
from app.doctor import doctor
from app.instance import Instance
from app.settings import Settings
from engine.model import device
from engine.model.device import DeviceInfo
from engine.snapshot import EngineState, Health
from tests.support.scripted_engine import ScriptedEngine, make_scripted_engine

MEMORY = 8 * 1024**3


@pytest.fixture(autouse=True)
def small_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine of known size: the real one's facts are the device room's business."""
    info = DeviceInfo("cpu", "Test CPU", MEMORY, "0.0", "Test BLAS", 2, ("It is only a test.",))
    monkeypatch.setattr(device, "describe", lambda: info)
    monkeypatch.setattr(device, "total_memory_bytes", lambda: MEMORY)
    monkeypatch.setattr(device, "default_kv_budget", lambda weights: 2 * 1024**3 - weights)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """The smallest folder that the catalog accepts."""
    folder = tmp_path / "Tiny-1B"
    folder.mkdir()
    (folder / "config.json").write_text('{"model_type": "llama"}')
    (folder / "tokenizer.json").write_text("{}")
    header = json.dumps({"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + b"\0" * 4)
    return folder


@pytest.fixture
def settings(tmp_path: Path, model: Path) -> Settings:
    return Settings(data_dir=tmp_path / "data", model=model)


def forbidden(*_args: Any, **_options: Any) -> ScriptedEngine:
    raise AssertionError("the model must not be loaded")


def test_a_sound_model(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    engines: list[ScriptedEngine] = []

    def factory(*args: Any, **options: Any) -> ScriptedEngine:
        engines.append(make_scripted_engine(*args, **options))
        return engines[0]

    assert doctor(settings, engine_factory=factory) == 0
    out = capsys.readouterr().out
    for finding in (
        "device    cpu: Test CPU, 8.0 GiB",
        "BLAS      Test BLAS, threads: 2",
        "warning: It is only a test.",
        "logs (not made yet)",
        "not running; would listen on http://127.0.0.1:8642",
        "model     Tiny-1B in ",
        "layers    2 full attention",
        "KV of running requests: shared parts",
        "context   512 tokens, 1.0 KiB of KV each",
        "budgets   KV 2.0 GiB, room for 2097",
        "pins at most 1024.0 MiB of it",
        "16 requests run, 256 more may wait",
    ):
        assert finding in out
    assert out.endswith("Ondol can serve.\n")
    assert engines[0].calls == ["start", "stop"]
    assert not (settings.data_dir or Path()).exists()


def test_a_model_that_cannot_be_loaded(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    def factory(*args: Any, **options: Any) -> ScriptedEngine:
        engine = make_scripted_engine(*args, **options)
        engine.health = Health(EngineState.FAILED, "Model type llama has no such layer.")
        engine.model = None
        return engine

    assert doctor(settings, engine_factory=factory) == 1
    out = capsys.readouterr().out
    assert "- The model cannot be loaded: Model type llama has no such layer.\n" in out
    assert "budgets" in out


def test_a_broken_folder_is_not_loaded(
    settings: Settings, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (model / "config.json").write_text("{")
    assert doctor(settings, engine_factory=forbidden) == 1
    out = capsys.readouterr().out
    assert "- The model cannot be used: config.json is not valid JSON.\n" in out
    assert "Traceback" not in out


def test_weights_larger_than_memory_are_not_loaded(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(device, "total_memory_bytes", lambda: 4)
    assert doctor(settings, engine_factory=forbidden) == 1
    assert "larger than the memory" in capsys.readouterr().out


def test_a_running_ondol_has_the_model_already(
    settings: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "data").mkdir()
    with Instance(tmp_path / "data") as instance:
        instance.announce("127.0.0.1", 1234)
        assert doctor(settings, engine_factory=forbidden) == 0
    out = capsys.readouterr().out
    assert "http://127.0.0.1:1234" in out
    assert "the running Ondol has it in memory" in out


def test_without_loading(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    assert doctor(settings, load=False, engine_factory=forbidden) == 0
    assert "not loaded; without --no-load" in capsys.readouterr().out


def test_before_the_first_start(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert doctor(Settings(data_dir=tmp_path / "data"), engine_factory=forbidden) == 0
    out = capsys.readouterr().out
    assert "the first start does it" in out
    assert not (tmp_path / "data").exists()


def test_one_finding_in_the_dark_ends_nothing(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken() -> DeviceInfo:
        raise RuntimeError("no driver at /secret/path")

    monkeypatch.setattr(device, "describe", broken)
    assert doctor(settings, engine_factory=make_scripted_engine) == 0
    out = capsys.readouterr().out
    assert "not found out (RuntimeError)" in out
    assert "layers    2 full attention" in out
    assert "secret" not in out


def test_versions_name_what_is_installed(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(app.doctor, "_PACKAGES", ("aiohttp", "no-such-package"))
    doctor(settings, load=False)
    assert "no-such-package (not installed)" in capsys.readouterr().out
