"""`ondol serve` with the starter model as a process, and a real client."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from openai import OpenAI

HOUSE = "The kettle is blue, the lamp is in the hall and the boiler code is 4417. "
MODEL = "SmolLM2-135M-Instruct"


@pytest.fixture(scope="module")
def server(starter_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    data = tmp_path_factory.mktemp("data")
    command = [sys.executable, "-m", "app", "serve", "--port", "0", "--data-dir", str(data)]
    process = subprocess.Popen(
        [*command, "--model", str(starter_model)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    said = process.stdout.readline().strip()
    assert said.startswith("Ondol is listening on http://127.0.0.1:")
    yield said.split()[-1]
    with client(said.split()[-1]).chat.completions.create(
        model=MODEL,
        messages=[{"role": "user", "content": "Count to a thousand."}],
        stream=True,
        max_tokens=1000,
    ) as stream:
        next(iter(stream))
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)
    assert process.returncode == 0, "a stop with a request running is a clean one"
    written = [file.read_bytes() for file in data.rglob("*") if file.is_file()]
    assert len(written) >= 2, "a log and a database"
    assert not any(b"boiler" in data or b"Count to" in data for data in written), "no bodies"


def client(url: str) -> OpenAI:
    return OpenAI(base_url=f"{url}/v1", api_key="unused", max_retries=0)


def ask(url: str, *, stream: bool) -> tuple[str, int, int]:
    """Text, prompt tokens and cached tokens of the same question about the house."""
    completions = client(url).chat.completions
    messages = [
        {"role": "system", "content": HOUSE * 18},
        {"role": "user", "content": "What is the boiler code?"},
    ]
    options = {"model": MODEL, "messages": messages, "temperature": 0, "max_tokens": 12}
    if not stream:
        answer = completions.create(**options)
        usage, text = answer.usage, answer.choices[0].message.content
    else:
        options |= {"stream": True, "stream_options": {"include_usage": True}}
        chunks = list(completions.create(**options))
        usage = chunks[-1].usage
        text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
        assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "stop"
    assert usage.prompt_tokens_details is not None
    return text, usage.prompt_tokens, usage.prompt_tokens_details.cached_tokens


def test_the_second_request_is_warm_and_says_the_same(server: str) -> None:
    cold = ask(server, stream=True)
    warm = ask(server, stream=True)
    whole = ask(server, stream=False)
    assert "4417" in cold[0]
    assert cold[1] == warm[1] == whole[1] > 400
    assert cold[2] <= 16, "only the template's head can be shared with anything before"
    assert warm[2] == whole[2] == warm[1] - 1
    assert warm[0] == whole[0] == cold[0]


def test_metrics_tell_what_happened(server: str) -> None:
    ask(server, stream=False)
    text = urllib.request.urlopen(f"{server}/metrics", timeout=10).read().decode()
    values = {
        line.split("{")[0]: float(line.rsplit(" ", 1)[1])
        for line in text.splitlines()
        if line and not line.startswith("#") and "bucket" not in line
    }
    sources = [float(line.rsplit(" ", 1)[1]) for line in text.splitlines()
               if line.startswith("vllm:prompt_tokens_by_source_total")]  # fmt: skip
    assert values["vllm:prefix_cache_queries_total"] == values["vllm:prompt_tokens_total"]
    assert 0 < values["vllm:prefix_cache_hits_total"] < values["vllm:prompt_tokens_total"]
    assert sum(sources) == values["vllm:prompt_tokens_total"]
    assert values["vllm:num_requests_running"] == 0


def test_health_names_the_model(server: str) -> None:
    health = json.load(urllib.request.urlopen(f"{server}/health", timeout=10))
    models = client(server).models.list()
    assert [model.id for model in models.data] == [MODEL]
    assert health["status"] == "ok"
