"""The real openai package against the server: what its users see."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import openai
import pytest

from engine.errors import EngineFailed, PromptTooLong, QueueFull
from engine.request import Failed, Text
from engine.snapshot import EngineState, Health
from tests.support.house import House, until
from tests.support.scripted_engine import MODEL

USER: list[Any] = [{"role": "user", "content": "Hi"}]


@pytest.fixture
def sdk(house: House) -> Callable[..., Any]:
    """Runs a function of a synchronous client in a thread, as a script would."""

    async def run(call: Callable[[openai.OpenAI], Any]) -> Any:
        def work() -> Any:
            with openai.OpenAI(base_url=house.url, api_key="unused", max_retries=0) as client:
                return call(client)

        return await asyncio.to_thread(work)

    return run


async def test_a_whole_answer(sdk: Callable[..., Any]) -> None:
    answer = await sdk(lambda c: c.chat.completions.create(model=MODEL.id, messages=USER))
    assert answer.choices[0].message.content == "Hello"
    assert answer.choices[0].finish_reason == "stop"
    assert answer.usage.prompt_tokens_details.cached_tokens == 2
    assert answer.usage.total_tokens == 5


async def test_a_streamed_answer(sdk: Callable[..., Any]) -> None:
    def stream(client: openai.OpenAI) -> list[Any]:
        return list(
            client.chat.completions.create(
                model="Scripted-1B",
                messages=USER,
                stream=True,
                stream_options={"include_usage": True},
            )
        )

    *chunks, last = await sdk(stream)
    assert chunks[0].choices[0].delta.role == "assistant"
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == "Hello"
    assert [chunk.choices[0].finish_reason for chunk in chunks] == [None, None, None, "stop"]
    assert last.choices == []
    assert last.usage.prompt_tokens_details.cached_tokens == 2
    assert last.timings["cache_n"] == 2


async def test_the_stream_helper(sdk: Callable[..., Any]) -> None:
    def stream(client: openai.OpenAI) -> Any:
        with client.chat.completions.stream(model=MODEL.id, messages=USER) as events:
            return events.get_final_completion()

    assert (await sdk(stream)).choices[0].message.content == "Hello"


async def test_models(sdk: Callable[..., Any]) -> None:
    listed = await sdk(lambda c: [model.id for model in c.models.list()])
    assert listed == [MODEL.id]
    assert (await sdk(lambda c: c.models.retrieve(MODEL.id))).id == MODEL.id


async def test_errors_arrive_as_the_sdk_s_own(house: House, sdk: Callable[..., Any]) -> None:
    def create(client: openai.OpenAI, **fields: Any) -> Any:
        body = {"model": MODEL.id, "messages": USER} | fields
        return client.chat.completions.create(**body)

    with pytest.raises(openai.NotFoundError) as not_found:
        await sdk(lambda c: create(c, model="gpt-4o-mini"))
    assert not_found.value.code == "model_not_found"
    with pytest.raises(openai.BadRequestError) as bad:
        await sdk(lambda c: create(c, temperature=9))
    assert (bad.value.code, bad.value.param) == ("invalid_value", "temperature")
    house.engine.submit_error = PromptTooLong(900, 512)
    with pytest.raises(openai.BadRequestError) as too_long:
        await sdk(lambda c: create(c, stream=True))
    assert too_long.value.code == "context_length_exceeded"
    house.engine.submit_error = QueueFull("Many requests wait.", 3)
    with pytest.raises(openai.RateLimitError) as full:
        await sdk(create)
    assert full.value.response.headers["Retry-After"] == "3"
    house.engine.health = Health(EngineState.LOADING, "The model is being loaded.")
    with pytest.raises(openai.InternalServerError) as loading:
        await sdk(create)
    assert loading.value.status_code == 503


async def test_a_failure_in_mid_stream_raises(house: House, sdk: Callable[..., Any]) -> None:
    house.engine.answer = None
    seen: list[str] = []

    def stream(client: openai.OpenAI) -> None:
        create = client.chat.completions.create
        chunks = create(model=MODEL.id, messages=USER, stream=True)
        seen.extend(chunk.choices[0].delta.content for chunk in chunks)

    running = asyncio.create_task(sdk(stream))
    await until(lambda: bool(house.engine.submitted))
    (request,) = house.engine.submitted
    house.engine.emit(request.id, Text(request.id, "half", 1))
    house.engine.emit(request.id, Failed(request.id, EngineFailed("The engine stopped working.")))
    with pytest.raises(openai.APIError, match="The engine stopped working"):
        await running
    assert seen == ["", "half"]
