"""The window's language: the system's where it is one of ours, or the one that a person chose."""

from __future__ import annotations

import logging
from importlib.resources import as_file, files

from PySide6.QtCore import QCoreApplication, QLibraryInfo, QLocale, QTranslator

from app.storage.settings_store import Language

logger = logging.getLogger(__name__)

_OURS = {"ko": Language.KOREAN, "en": Language.ENGLISH}
_SYSTEM_LOCALE = QLocale()  # as it is before anybody sets another default


class Translations:
    """The translators in force; used on the main thread, before the texts are asked for."""

    def __init__(self, app: QCoreApplication) -> None:
        self._app = app
        self._translators: list[QTranslator] = []
        self.language: Language | None = None

    def use(self, wanted: Language) -> None:
        """Let what is made from now on speak `wanted`, and write figures as that language does."""
        spoken = resolve(wanted, QLocale.system().uiLanguages())
        if spoken is self.language:
            return
        self.language = spoken
        for translator in self._translators:
            self._app.removeTranslator(translator)
        self._translators = []
        if spoken is Language.KOREAN:
            self._install("ko")
        QLocale.setDefault(_locale(wanted, spoken))

    def _install(self, code: str) -> None:
        """Ours last: it is asked first."""
        for name, folder in (
            (f"qtbase_{code}", QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath)),
            (f"ondol_{code}", ""),
        ):
            translator = QTranslator(self._app)
            if not (translator.load(name, folder) if folder else _load_own(translator, name)):
                logger.warning("the translation %s is missing", name)
                continue
            self._app.installTranslator(translator)
            self._translators.append(translator)


def resolve(wanted: Language, system: list[str]) -> Language:
    """The language that is spoken. `system` are the system's languages in its order, as en-GB."""
    if wanted is not Language.SYSTEM:
        return wanted
    for name in system:
        ours = _OURS.get(name.replace("_", "-").split("-")[0])
        if ours is not None:
            return ours
    return Language.ENGLISH


def _locale(wanted: Language, spoken: Language) -> QLocale:
    """Figures follow the system as far as its language is spoken: a German who reads English keeps
    his decimal comma."""
    if wanted is Language.SYSTEM or _SYSTEM_LOCALE.name().startswith(spoken.value):
        return _SYSTEM_LOCALE
    if spoken is Language.KOREAN:
        return QLocale(QLocale.Language.Korean, QLocale.Country.SouthKorea)
    return QLocale(QLocale.Language.English, QLocale.Country.UnitedStates)


def _load_own(translator: QTranslator, name: str) -> bool:
    with as_file(files("resources") / "i18n" / f"{name}.qm") as path:
        return path.exists() and translator.load(str(path))
