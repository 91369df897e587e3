"""What went wrong, in the reader's language: the one place that knows the kinds of errors.

In English the errors speak for themselves. For every other language the kind of an error gives the
sentence, and its figures go into it. What only its English message knows follows in brackets.
"""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, QLocale

from app.budget import KvBudgetTooLarge
from app.desk import NothingToPin
from app.gui import text
from app.instance import InstanceHeld
from app.model_import import GgufFileGiven
from app.remove import NotOndols
from app.storage import errors as storage
from engine.errors import (
    DiskFull,
    EmptyPrompt,
    EngineUnavailable,
    ModelError,
    PinRefused,
    PromptTooLong,
    QueueFull,
    TemplateError,
    UnsafeModel,
)
from engine.snapshot import EngineState, Snapshot

translate = QCoreApplication.translate

_SHORT_OF_MEMORY = "This machine is short of memory"


def words(error: BaseException) -> str:
    """One or two sentences for a person."""
    if _in_english():
        return _of_system(error) if isinstance(error, OSError) else str(error)
    return _with_figures(error) or _of_storage(error) or _with_details(error)


def reason(snapshot: Snapshot) -> str:
    """Why the engine is in its state; empty where the state says all."""
    if _in_english() or not snapshot.reason:
        return snapshot.reason
    if snapshot.state is EngineState.FAILED:
        return _detailed(translate("trouble", "The model cannot be used."), snapshot.reason)
    return ""


def notice(snapshot: Snapshot) -> str:
    """What is unusual about the engine, from its own sentence; empty where nothing is."""
    if _in_english() or not snapshot.notice:
        return snapshot.notice
    known = translate(
        "trouble",
        "This machine is short of memory: only prefixes that were used again lately stay warm until"
        " there is more.",
    )
    return known if snapshot.notice.startswith(_SHORT_OF_MEMORY) else snapshot.notice


def refusal(why: str) -> str:
    """Why a prefix is not kept warm, from the engine's sentence."""
    if _in_english() or not why:
        return why
    return _detailed(translate("trouble", "It cannot be kept warm."), why)


def _in_english() -> bool:
    return text.locale().language() is QLocale.Language.English


def _detailed(sentence: str, details: object) -> str:
    return f"{sentence} ({details})"


def _of_system(error: OSError) -> str:
    return error.strerror or type(error).__name__


def _with_figures(error: BaseException) -> str:
    match error:
        case storage.NameTaken():
            told = translate("trouble", "There is already a prefix named “{name}”.")
            return told.format(name=error.name)
        case storage.NewerDatabase():
            told = translate(
                "trouble",
                "A newer Ondol has written the database (format {found}; this one knows up to"
                " {supported}). Start the newer Ondol, or choose another data folder.",
            )
            return told.format(found=error.found, supported=error.supported)
        case storage.InvalidTemplate() if error.line is not None:
            told = translate("trouble", "Line {line} cannot be used.")
            return _detailed(told.format(line=text.count(error.line)), error)
        case PromptTooLong():
            told = translate(
                "trouble", "It has {tokens} tokens, and {limit} is the most that fits."
            )
            return told.format(tokens=text.count(error.num_tokens), limit=text.count(error.limit))
        case KvBudgetTooLarge():
            told = translate(
                "trouble", "{budget} for prompts is more than the {memory} of memory there is."
            )
            return told.format(budget=text.size(error.budget), memory=text.size(error.memory))
        case GgufFileGiven():
            told = translate(
                "trouble",
                "{name} is a GGUF file, and Ondol loads model folders. Make one of it first:"
                " ondol import {name}",
            )
            return told.format(name=error.name)
        case InstanceHeld() if error.holder is not None:
            told = translate("trouble", "Process {pid} has this data folder.")
            return told.format(pid=error.holder.pid)
        case _:
            return ""


def _of_storage(error: BaseException) -> str:
    match error:
        case storage.DiskFull() | DiskFull():
            return translate("trouble", "The disk is full. Free some space and try again.")
        case storage.ReadOnlyFolder():
            return translate(
                "trouble", "Ondol may not write to its data folder, so nothing was changed."
            )
        case storage.DatabaseLocked():
            return translate(
                "trouble", "Another program is using the database. Close it and try again."
            )
        case storage.DatabaseCorrupt():
            told = translate(
                "trouble", "The database is damaged, or is none. It was left as it is."
            )
            return _detailed(told, error)
        case storage.DiskFailure():
            return translate("trouble", "The disk could not be read or written.")
        case storage.MigrationFailed():
            told = translate("trouble", "The database could not be brought up to date.")
            return _detailed(told, error)
        case storage.StorageClosed():
            return translate("trouble", "Ondol is ending.")
        case storage.UnknownTemplate():
            return translate("trouble", "This prefix, or this version of it, is gone.")
        case storage.NotPinned():
            return translate("trouble", "This prefix is not pinned.")
        case _:
            return ""


def _with_details(error: BaseException) -> str:
    """Kinds whose English message says what exactly is wrong; with no kind it is all there is."""
    sentence = ""
    match error:
        case storage.InvalidTemplate():
            sentence = translate("trouble", "This cannot be used as it is.")
        case UnsafeModel():
            sentence = translate("trouble", "This model could run code of its own.")
        case ModelError():
            sentence = translate("trouble", "The model cannot be used.")
        case TemplateError():
            sentence = translate("trouble", "The model's chat template does not take this.")
        case PinRefused():
            sentence = translate("trouble", "It cannot be kept warm.")
        case NotOndols():
            sentence = translate("trouble", "This is no data folder of Ondol's.")
        case NothingToPin():
            return translate("trouble", "No chat has arrived yet.")
        case EngineUnavailable():
            return translate("trouble", "No model is running yet.")
        case QueueFull():
            return translate("trouble", "Too many requests are waiting. Try again later.")
        case EmptyPrompt():
            return translate("trouble", "There is no text in it.")
        case OSError():
            sentence = translate("trouble", "The system does not allow it.")
            return _detailed(sentence, _of_system(error))
        case _:
            pass
    return _detailed(sentence, error) if sentence else str(error)
