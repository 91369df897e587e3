"""Answers come back on the main thread, whoever gives them and whatever is gone by then."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor

import pytest
from PySide6.QtCore import QObject
from pytestqt.qtbot import QtBot

from app.gui.futures import follow


@pytest.fixture
def owner(qtbot: QtBot) -> QObject:
    return QObject()


def test_a_result_from_another_thread_arrives_on_the_main_thread(
    qtbot: QtBot, owner: QObject
) -> None:
    arrived: list[tuple[int, threading.Thread]] = []
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(lambda: 7)
        follow(future, owner, lambda result: arrived.append((result, threading.current_thread())))
        qtbot.waitUntil(lambda: bool(arrived))
    assert arrived == [(7, threading.main_thread())]


def test_what_is_done_already_is_still_told_later(qtbot: QtBot, owner: QObject) -> None:
    future: Future[int] = Future()
    future.set_result(1)
    with qtbot.waitCallback() as done:
        follow(future, owner, done)
        assert not done.called
    done.assert_called_with(1)


def test_answers_come_in_the_order_in_which_they_were_given(qtbot: QtBot, owner: QObject) -> None:
    futures: list[Future[int]] = [Future() for _ in range(3)]
    arrived: list[int] = []
    for future in futures:
        follow(future, owner, arrived.append)
    for number in (2, 0, 1):
        futures[number].set_result(number)
    qtbot.waitUntil(lambda: len(arrived) == 3)
    assert arrived == [2, 0, 1]


def test_an_error_goes_to_failed(qtbot: QtBot, owner: QObject) -> None:
    future: Future[int] = Future()
    future.set_exception(ValueError("no"))
    with qtbot.waitCallback() as failed:
        follow(future, owner, lambda _: pytest.fail("there is no result"), failed)
    assert str(failed.args[0]) == "no"


def test_an_error_that_nobody_expects_is_raised_on_the_main_thread(
    qtbot: QtBot, owner: QObject
) -> None:
    future: Future[int] = Future()
    future.set_exception(ValueError("no"))
    with qtbot.captureExceptions() as raised:
        follow(future, owner, lambda _: None)
        qtbot.waitUntil(lambda: bool(raised))
    assert raised[0][0] is ValueError


def test_nothing_is_told_of_a_cancelled_future_or_to_an_owner_that_is_gone(
    qtbot: QtBot, owner: QObject
) -> None:
    cancelled: Future[int] = Future()
    follow(cancelled, owner, lambda _: pytest.fail("it was cancelled"))
    cancelled.cancel()
    gone = QObject()
    late: Future[int] = Future()
    follow(late, gone, lambda _: pytest.fail("its owner is gone"))
    with qtbot.waitSignal(gone.destroyed):
        gone.deleteLater()
    late.set_result(1)
    with qtbot.waitCallback() as done:
        last: Future[int] = Future()
        last.set_result(1)
        follow(last, owner, done)


def test_owners_may_go_at_the_moment_in_which_an_answer_comes(qtbot: QtBot, owner: QObject) -> None:
    """A thread must never touch what the main thread is just freeing."""
    arrived: list[int] = []
    with ThreadPoolExecutor(2) as pool:
        for number in range(500):
            passing = QObject()
            future: Future[int] = Future()
            follow(future, passing, lambda _: None)
            pool.submit(future.set_result, number)
            passing.deleteLater()
            if number % 10 == 0:
                follow(future, owner, arrived.append)
                qtbot.waitUntil(lambda number=number: arrived[-1:] == [number])
