"""The table, the verdicts in words, and the JSON."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from app.bench.memory import Peak
from app.bench.report import present, table, write_whole
from app.bench.warm_report import render, to_json
from app.bench.warm_results import Results, SizeResult


def test_the_table_is_aligned_and_has_every_figure(results: Results) -> None:
    lines = render(results).splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("prompt"))
    groups, names, greeting, long = lines[at : at + 4]
    assert len({len(groups), len(names), len(greeting), len(long)}) == 1
    assert len(names) <= 120
    columns = [
        *("tokens", "Ondol", "mlx-lm", "ratio"),
        *("cached", "warm", "of", "cold", "saving", "limit", "ratio"),
        *("cached", "new", "warm", "of", "cold", "limit", "ratio"),
    ]
    assert names.split() == columns
    assert long.split() == [
        *("2,000", "10,000", "10,000", "1.00"),
        *("1,999", "300", "0.030", "97.0", "%", "250", "1.20"),
        *("1,984", "16", "600", "0.060", "500", "1.20"),
    ]
    assert greeting.split()[:4] == ["10", "120", "100", "1.20"]


def test_conditions_and_warnings_are_told(results: Results) -> None:
    text = render(results)
    for fact in (
        "model     Tiny-1B, float32",
        "device    cpu: Test CPU, cores: 2, load before: 0.12",
        "BLAS      Test BLAS, threads: 2 (the same on both sides)",
        "versions  ondol 0.0, mlx 0.0",
        "warning   It is only a test.",
        "prefill chunk: 256 tokens",
    ):
        assert fact in text
    assert "Not quite cold" not in text


def test_a_miss_is_told_as_plainly_as_a_bar_that_is_met(results: Results) -> None:
    text = render(results)
    assert "  MISSED     10 tokens  cold / plain mlx-lm 1.200 (bar ≤ 1.05)\n" in text
    assert "  met     2,000 tokens  cold / plain mlx-lm 1.000 (bar ≤ 1.05); too near" in text
    assert "  met     2,000 tokens  warm / cold 0.030 (bar ≤ 0.05)\n" in text
    assert "  met     2,000 tokens  warm, tokens not cached 1 (bar ≤ 17)\n" in text
    assert text.endswith("\n12 of 13 bars met, 1 missed.")


def test_many_pairs_show_their_interval(
    results: Results, make_size: Callable[..., SizeResult]
) -> None:
    slow, fast = make_size(500, cold_s=10.8, rounds=8), make_size(500, cold_s=10.2, rounds=8)
    size = SizeResult(500, slow.rounds + fast.rounds)
    text = render(dataclasses.replace(results, sizes=(size,)))
    assert "cold / plain mlx-lm 1.050 (bar ≤ 1.05); 95 % interval 1.020 to 1.080, 16 pairs" in text


def test_a_cold_request_that_was_not_cold_is_told(results: Results) -> None:
    size = results.sizes[1]
    tainted = dataclasses.replace(size.rounds[0], cold_cached_tokens=12)
    size = SizeResult(2000, (tainted, *size.rounds[1:]))
    text = render(dataclasses.replace(results, sizes=(size,)))
    assert "Not quite cold: a cold request found 12 tokens in the cache." in text


def test_json_has_every_sample_and_every_verdict(results: Results) -> None:
    data = json.loads(json.dumps(to_json(results)))
    assert (data["schema"], data["schema_version"]) == ("ondol-bench-warm", 1)
    assert data["conditions"]["device"]["blas_threads"] == 2
    assert data["conditions"]["prefill_chunk"] == 256
    assert [size["target"] for size in data["sizes"]] == [10, 2000]
    long = data["sizes"][1]
    assert len(long["rounds"]) == 3
    assert long["rounds"][0]["same"][1] == {
        "prompt_tokens": 2000,
        "cached_tokens": 1999,
        "ttft_s": 0.3,
        "limit_s": 0.25,
    }
    assert long["cold"]["over_plain"] == {"median": 1.0, "low": 1.0, "high": 1.0, "n": 3}
    assert long["same"]["saving"] == pytest.approx(0.97)
    assert long["same"]["over_limit"]["n"] == 6
    assert long["another"]["computed_tokens"] == 16
    missed = [verdict for verdict in data["verdicts"] if not verdict["met"]]
    assert [(verdict["what"], verdict["prompt_tokens"]) for verdict in missed] == [
        ("cold / plain mlx-lm", 10)
    ]


def test_the_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    file = tmp_path / "bench.json"
    write_whole({"schema": "a"}, file)
    assert json.loads(file.read_text()) == {"schema": "a"}
    with pytest.raises(TypeError):
        write_whole({"schema": "b", "samples": object()}, file)
    assert json.loads(file.read_text()) == {"schema": "a"}
    assert list(tmp_path.iterdir()) == [file]


def test_a_report_is_printed_and_written_where_it_is_wanted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    present("No bars.", {"bars": []}, None)
    assert list(tmp_path.iterdir()) == []
    present("No bars.", {"bars": []}, tmp_path / "bench.json")
    assert capsys.readouterr().out == "\nNo bars.\n" * 2
    assert json.loads((tmp_path / "bench.json").read_text()) == {"bars": [], "memory": []}
    present("No bars.", {}, tmp_path / "bench.json", (Peak("it", 5, 1, 2, 3),))
    assert "  met     it: " in capsys.readouterr().out
    assert json.loads((tmp_path / "bench.json").read_text())["memory"][0]["met"]


def test_a_table_without_rows_is_its_header_and_a_line_of_dashes() -> None:
    assert table((("prompt", ("tokens",)), ("cold, ms", ("Ondol", "ratio"))), []) == [
        "prompt  - cold, ms -",
        "tokens  Ondol  ratio",
        "     -      -      -",
    ]
