"""What the doctor says of a sound model, a broken one, and a machine that is partly in the dark."""

from __future__ import annotations

import errno
import json
import shutil
import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import app.packages
from app.doctor import doctor
from app.instance import Instance
from app.settings import Settings
from app.storage.store import FILE_NAME, Store
from engine.config import AdmissionMode
from engine.errors import TemplateError
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
        "at most 16 requests run, 256 more may wait",
        "admission: protect-cache",
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


def test_a_broken_chat_template(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    def factory(*args: Any, **options: Any) -> ScriptedEngine:
        engine = make_scripted_engine(*args, **options)
        engine.format_error = TemplateError("This model has no chat template.")
        return engine

    assert doctor(settings, engine_factory=factory) == 1
    out = capsys.readouterr().out
    assert "- No chat can be answered: This model has no chat template.\n" in out


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
    monkeypatch.setattr(app.packages, "PACKAGES", ("aiohttp", "no-such-package"))
    doctor(settings, load=False)
    assert "no-such-package (not installed)" in capsys.readouterr().out


def prefer(settings: Settings, **changes: Any) -> Path:
    """Preferences as the window stores them; returns the database."""
    assert settings.data_dir is not None
    settings.data_dir.mkdir(exist_ok=True)
    store = Store(settings.data_dir)
    store.open()
    store.update_preferences(lambda now: replace(now, **changes)).result(20)
    store.close()
    return settings.data_dir / FILE_NAME


def test_what_was_chosen_in_the_window_counts(
    settings: Settings, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    database = prefer(
        settings,
        model_folder=model,
        port=9123,
        kv_budget_bytes=300 * 1024**2,
        admission=AdmissionMode.BALANCED,
        max_running=3,
    )
    before = sorted(path.name for path in database.parent.iterdir())
    assert doctor(Settings(data_dir=settings.data_dir), engine_factory=make_scripted_engine) == 0
    out = capsys.readouterr().out
    for finding in (
        "model     Tiny-1B in ",
        "as chosen in the window",
        "would listen on http://127.0.0.1:9123",
        "budgets   KV 300.0 MiB, room for 307200 tokens",
        "at most 3 requests run",
        "admission: balanced",
    ):
        assert finding in out
    assert sorted(path.name for path in database.parent.iterdir()) == before


def test_the_command_line_counts_more(
    settings: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prefer(settings, model_folder=tmp_path / "Other-1B", kv_budget_bytes=300 * 1024**2)
    given = replace(settings, kv_budget_bytes=400 * 1024**2)
    assert doctor(given, engine_factory=make_scripted_engine) == 0
    out = capsys.readouterr().out
    assert "Tiny-1B in " in out
    assert "KV 400.0 MiB" in out
    assert "as chosen in the window" not in out


def test_a_damaged_database_is_a_problem(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    assert settings.data_dir is not None
    settings.data_dir.mkdir()
    (settings.data_dir / FILE_NAME).write_text("this is no database" * 100)
    assert doctor(settings, load=False) == 1
    assert "cannot be read: file is not a database." in capsys.readouterr().out


def test_a_budget_without_room_for_a_request(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With tokens of 1 KiB, and as if KV were allocated in steps of 262,144 of them."""
    monkeypatch.setattr("app.doctor.LEAST_TOKENS", 256 * 1024)
    tight = replace(settings, kv_budget_bytes=256 * 1024**2)
    assert doctor(tight, engine_factory=make_scripted_engine) == 1
    assert "256.0 MiB leaves no room for a request" in capsys.readouterr().out
    enough = replace(settings, kv_budget_bytes=257 * 1024**2)
    assert doctor(enough, engine_factory=make_scripted_engine) == 0


def test_a_budget_beyond_the_memory(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    assert doctor(replace(settings, kv_budget_bytes=MEMORY + 1), load=False) == 1
    assert "8.0 GiB is more than the 8.0 GiB of memory" in capsys.readouterr().out
    assert doctor(replace(settings, kv_budget_bytes=MEMORY), load=False) == 0


@pytest.mark.parametrize("name", ["data", "data/logs", "data/models"])
def test_a_folder_that_cannot_be_written_to(
    settings: Settings, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    in_the_way = tmp_path / name
    in_the_way.parent.mkdir(exist_ok=True)
    in_the_way.write_text("a file is in the way")
    assert doctor(settings, load=False) == 1
    assert f"- Ondol cannot write to {in_the_way}: {in_the_way} is no folder.\n" in (
        capsys.readouterr().out
    )


def test_a_disk_that_is_nearly_full(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    usage = shutil.disk_usage("/")._replace(free=1024)
    monkeypatch.setattr("app.doctor.shutil.disk_usage", lambda _: usage)
    assert doctor(settings, load=False) == 1
    assert f"- The disk that holds {settings.data_dir} is nearly full.\n" in capsys.readouterr().out


def test_a_read_only_folder(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As root every folder can be written to, so the refusal is made here."""
    assert settings.data_dir is not None
    settings.data_dir.mkdir()

    def refuse(dir: Path) -> None:
        raise OSError(errno.EROFS, "no")

    monkeypatch.setattr("app.doctor.tempfile.TemporaryFile", refuse)
    assert doctor(settings, load=False) == 1
    assert "Read-only file system." in capsys.readouterr().out
