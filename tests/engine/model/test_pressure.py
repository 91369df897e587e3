"""What the system says about its memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.model import pressure


@pytest.mark.parametrize(
    ("text", "percent"),
    [
        ("some avg10=12.50 avg60=1.00 avg300=0.10 total=9\nfull avg10=3.00 total=1\n", 12.5),
        ("full avg10=40.00 avg60=0.00\nsome avg10=0.00 avg60=0.00\n", 0.0),
        ("\n\nsome\n", 0.0),
        ("some avg10=lots\n", 0.0),
        ("", 0.0),
    ],
)
def test_the_share_of_time_somebody_waited_for_memory(
    tmp_path: Path, text: str, percent: float
) -> None:
    file = tmp_path / "memory"
    file.write_text(text)
    assert pressure.stalled_percent(file) == percent


def test_a_system_without_the_file_is_never_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pressure, "PSI_FILE", tmp_path / "none")
    monkeypatch.setattr(pressure.sys, "platform", "linux")
    assert not pressure.memory_is_short()


@pytest.mark.parametrize(("percent", "short"), [(9.9, False), (10.0, True)])
def test_short_from_ten_percent_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, percent: float, short: bool
) -> None:
    file = tmp_path / "memory"
    file.write_text(f"some avg10={percent:.2f}\n")
    monkeypatch.setattr(pressure, "PSI_FILE", file)
    monkeypatch.setattr(pressure.sys, "platform", "linux")
    assert pressure.memory_is_short() is short
