"""The model list in one shape that OpenAI, Anthropic and Codex clients all read."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from http import HTTPStatus

from aiohttp import web

from app.ports import EnginePort
from app.server.errors import ApiError, unavailable
from app.server.keys import ENGINE, OPTIONS
from engine.model.info import ModelInfo


def ready_model(engine: EnginePort) -> ModelInfo:
    """The model that serves now. Raises ApiError (503) with the engine's reason."""
    health, model = engine.health, engine.model
    if not health.ok or model is None:
        raise unavailable(health.reason)
    return model


def check_name(name: str | None, model: ModelInfo, aliases: Iterable[str]) -> None:
    """Accepts the id, its last part, an alias, or no name at all; nothing is looked up elsewhere.

    Raises ApiError (404) that lists the ids. It does not repeat the name: that may be a path (S10).
    """
    if name is None or name in (model.id, _base_name(model.id)) or name in aliases:
        return
    raise ApiError(
        HTTPStatus.NOT_FOUND,
        "model_not_found",
        f"There is no model of this name here. Available: {model.id}",
        param="model",
    )


async def list_models(request: web.Request) -> web.Response:
    """GET /v1/models"""
    model = ready_model(request.app[ENGINE])
    return web.json_response(
        {
            "object": "list",
            "has_more": False,
            "first_id": model.id,
            "last_id": model.id,
            "data": [_model_json(model)],
            "models": [{"slug": model.id, "name": model.id, "model": model.id}],
        }
    )


async def retrieve_model(request: web.Request) -> web.Response:
    """GET /v1/models/{id}; the id may hold slashes, plain or percent-encoded."""
    model = ready_model(request.app[ENGINE])
    check_name(request.match_info["model_id"], model, request.app[OPTIONS].model_aliases)
    return web.json_response(_model_json(model))


def _model_json(model: ModelInfo) -> dict[str, object]:
    created = datetime.fromtimestamp(model.created, UTC)
    return {
        "id": model.id,
        "object": "model",
        "created": model.created,
        "owned_by": "local",
        "type": "model",
        "display_name": _base_name(model.id),
        "created_at": created.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "context_length": model.context_window,
        "max_model_len": model.context_window,
        "max_input_tokens": model.context_window,
        "max_tokens": model.context_window,
    }


def _base_name(model_id: str) -> str:
    return model_id.rsplit("/", 1)[-1]
