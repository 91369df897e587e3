from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

import engine
from engine.errors import TemplateError
from engine.prompt.template import MAX_KWARGS, RenderJob, TemplateRenderer

PLAIN = "{% for m in messages %}[{{ m.role }}] {{ m.content }}\n{% endfor %}"
HELLO = [{"role": "user", "content": "hello"}]
HELLO_TEXT = "[user] hello\n"
RENDER_LIMIT_WITH_SLACK_S = 2.5


@pytest.fixture(scope="module")
def renderer() -> Iterator[TemplateRenderer]:
    renderer = TemplateRenderer()
    renderer.warm_up()
    yield renderer
    renderer.close()


def render(renderer: TemplateRenderer, template: str, **kwargs: object) -> str:
    return renderer.render(template, HELLO, None, add_generation_prompt=True, **kwargs)


@pytest.mark.parametrize(
    ("template", "text"),
    [
        (PLAIN, HELLO_TEXT),
        ("  {% if true %}\n  a\n  {% endif %}\nb", "  a\nb"),
        ("{% for i in [1, 2, 3, 4] %}{% if i == 2 %}{% continue %}{% endif %}"
         "{% if i == 4 %}{% break %}{% endif %}{{ i }}{% endfor %}", "13"),
        ("{{ {'b': '<é> & \"', 'a': [1, none]} | tojson }}", '{"b": "<é> & \\"", "a": [1, null]}'),
        ("{{ {'b': 1} | tojson(indent=2) }}", '{\n  "b": 1\n}'),
        ("{% generation %}a{% endgeneration %}b", "ab"),
        ("{% set ns = namespace(n=1) %}{% for i in [1, 2] %}{% set ns.n = ns.n + i %}{% endfor %}"
         "{{ ns.n }}", "4"),
        ("{{ '-' * 10 }}{{ 2 * 3 }}", "----------6"),
        ("{{ tools is none }} {{ add_generation_prompt }}", "True True"),
        ("{{ messages[0].content[::-1] | upper }}", "OLLEH"),
    ],
)  # fmt: skip
def test_templates_render_as_their_authors_expect(
    renderer: TemplateRenderer, template: str, text: str
) -> None:
    assert render(renderer, template) == text


def today() -> date:
    return datetime.now(UTC).astimezone().date()


def test_the_clock_stands_at_midnight(renderer: TemplateRenderer) -> None:
    before = today()
    text = render(renderer, "{{ strftime_now('%Y-%m-%d %H:%M:%S.%f') }}")
    assert text in {f"{day.isoformat()} 00:00:00.000000" for day in (before, today())}


def test_messages_tools_and_arguments_arrive_unchanged(renderer: TemplateRenderer) -> None:
    messages = [{"role": "user", "content": "온돌 😀 \x00 \ud83d"}]
    tools = [{"type": "function", "function": {"name": "f", "parameters": {"z": 1, "a": {}}}}]
    text = renderer.render(
        "{{ messages[0].content }}|{{ tools | tojson }}|{{ flag }}|{{ effort }}",
        messages,
        tools,
        add_generation_prompt=False,
        flag=False,
        effort="low",
    )
    assert text == (
        "온돌 😀 \x00 \ud83d|"
        '[{"type": "function", "function": {"name": "f", "parameters": {"z": 1, "a": {}}}}]'
        "|False|low"
    )


def test_a_batch_answers_each_job(renderer: TemplateRenderer) -> None:
    template = (
        "{{ bos }}{% if not messages %}{{ raise_exception('No user query found.') }}{% endif %}"
        "{{ messages[0].content }}{{ add_generation_prompt }}{{ n }}"
    )
    first, second, third = renderer.render_batch(
        template,
        [RenderJob(HELLO, None, True, {"n": 1}), RenderJob([]), RenderJob(HELLO, kwargs={"n": 2})],
        {"bos": "<s>"},
    )
    assert (first, third) == ("<s>helloTrue1", "<s>helloFalse2")
    assert isinstance(second, TemplateError)
    assert str(second) == "The chat template refused the messages: No user query found."


NESTED_LOOPS = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"
HOSTILE = {
    "{{ ''.__class__ }}": "not allowed",
    "{{ cycler.__init__.__globals__ }}": "not allowed",
    "{{ ''['__class__'] }}": "not allowed",
    "{{ '' | attr('__class__') }}": "not allowed",
    "{{ messages.append({}) }}": "not allowed",
    "{{ messages[0].update(role='x') }}": "not allowed",
    "{% set ns = namespace() %}{% set ns.__class__ = 1 %}": "not allowed",
    "{{ namespace(__html__=1) }}": "not allowed",
    "{{ '{0.__class__}'.format(1) }}": "not allowed",
    "{{ 'x' * 10**9 }}": "8 MB",
    "{{ 10**9 * ['x'] }}": "8 MB",
    "{% for a in range(99999) %}{{ 'x' * 999 }}{% endfor %}": "8 MB",
    "{{ 'x' | center(10**9) }}": "512 MB of memory",
    "{{ '%1000000000d' % 1 }}": "512 MB of memory",
    NESTED_LOOPS: "longer than 2 s",
    "{{ (10**10)**(10**8) }}": "longer than 2 s",
    "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}": "too deeply",
    "{{ " + "(" * 100_000: "too deeply",
    "{% include '/etc/passwd' %}": "does not work",
    "{{ lipsum() }}": "'lipsum' is undefined",
    "{{ messages[0].content + 1 }}": "does not work",
    "{{ nothing.at.all }}": "'nothing' is undefined",
    "{% if %}": "not valid",
    "{{ raise_exception('Roles must alternate.') }}": "refused the messages: Roles must alternate.",
}  # fmt: skip


@pytest.mark.parametrize("template", HOSTILE, ids=lambda template: template[:30])
def test_hostile_templates_are_refused_in_time_and_the_next_works(
    renderer: TemplateRenderer, template: str
) -> None:
    """Security S6."""
    start = time.monotonic()
    with pytest.raises(TemplateError, match=HOSTILE[template]) as refusal:
        render(renderer, template)
    assert time.monotonic() - start < RENDER_LIMIT_WITH_SLACK_S
    assert len(str(refusal.value)) <= 500
    assert render(renderer, PLAIN) == HELLO_TEXT


@pytest.mark.parametrize("depth", [*range(960, 1000, 5), 100_000])
def test_data_too_deep_for_json_is_refused(renderer: TemplateRenderer, depth: int) -> None:
    """Near the limit either side may be the one that cannot read it."""
    tool: dict[str, object] = {}
    for _ in range(depth):
        tool = {"a": tool}
    (result,) = render_or_error(renderer, RenderJob(HELLO, [tool]))
    if depth > 1000:
        assert isinstance(result, TemplateError)
    assert result == "1" or "nested too deeply" in str(result)
    assert render(renderer, PLAIN) == HELLO_TEXT


def render_or_error(renderer: TemplateRenderer, job: RenderJob) -> list[str | TemplateError]:
    try:
        return renderer.render_batch("{{ tools | length }}", [job])
    except TemplateError as refusal:
        return [refusal]


def test_more_arguments_than_allowed_are_refused(renderer: TemplateRenderer) -> None:
    arguments = {f"a{place}": place for place in range(MAX_KWARGS)}
    assert render(renderer, "{{ a31 }}", **arguments) == "31"
    with pytest.raises(TemplateError, match="at most 32"):
        render(renderer, PLAIN, extra=1, **arguments)


def test_variables_are_what_the_template_reads_from_outside(renderer: TemplateRenderer) -> None:
    template = (
        "{% set x = 1 %}{{ x }}{{ bos_token }}{% if enable_thinking is defined %}"
        "{{ strftime_now('%Y') }}{{ raise_exception(date_string) }}{% endif %}"
        "{% for m in messages %}{{ m }}{% endfor %}{{ namespace() }}"
    )
    assert renderer.variables(template) == {
        "bos_token", "enable_thinking", "date_string", "messages",
    }  # fmt: skip
    with pytest.raises(TemplateError, match="not valid"):
        renderer.variables("{% if %}")


def worker_pid(renderer: TemplateRenderer) -> int:
    assert renderer._worker is not None
    return renderer._worker._process.pid


def is_gone(pid: int) -> bool:
    """False also for a zombie: it can still be signalled."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_a_hung_process_is_replaced_at_once_and_reaped(renderer: TemplateRenderer) -> None:
    render(renderer, PLAIN)
    before = worker_pid(renderer)
    with pytest.raises(TemplateError, match="longer than 2 s"):
        render(renderer, NESTED_LOOPS)
    assert is_gone(before)
    assert worker_pid(renderer) != before
    assert render(renderer, PLAIN) == HELLO_TEXT


def test_a_process_killed_while_idle_costs_no_request(renderer: TemplateRenderer) -> None:
    render(renderer, PLAIN)
    before = worker_pid(renderer)
    assert renderer._worker is not None
    os.kill(before, signal.SIGKILL)
    renderer._worker._process.wait()
    assert render(renderer, PLAIN) == HELLO_TEXT
    assert is_gone(before)


@pytest.mark.parametrize("moment", ["exchange", "_receive"], ids=["before", "in the middle"])
def test_a_crash_is_an_error_and_the_next_call_works(
    renderer: TemplateRenderer, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    render(renderer, PLAIN)
    worker = renderer._worker
    assert worker is not None
    original = getattr(worker, moment)

    def crash_first(*args: object) -> object:
        os.kill(worker._process.pid, signal.SIGKILL)
        worker._process.wait()
        return original(*args)

    monkeypatch.setattr(worker, moment, crash_first)
    with pytest.raises(TemplateError, match="crashed its renderer"):
        render(renderer, NESTED_LOOPS)
    assert is_gone(worker._process.pid)
    assert render(renderer, PLAIN) == HELLO_TEXT


def test_threads_take_turns(renderer: TemplateRenderer) -> None:
    texts: dict[int, list[str]] = {}

    def work(number: int) -> None:
        messages = [{"role": "user", "content": str(number)}]
        texts[number] = [
            renderer.render(PLAIN, messages, None, add_generation_prompt=False) for _ in range(20)
        ]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert texts == {number: [f"[user] {number}\n"] * 20 for number in range(6)}


def test_close_ends_the_process() -> None:
    renderer = TemplateRenderer()
    assert render(renderer, PLAIN) == HELLO_TEXT
    pid = worker_pid(renderer)
    renderer.close()
    renderer.close()
    assert is_gone(pid)
    with pytest.raises(TemplateError, match="closed"):
        render(renderer, PLAIN)


def test_a_dropped_renderer_ends_its_process() -> None:
    renderer = TemplateRenderer()
    renderer.warm_up()
    pid = worker_pid(renderer)
    del renderer
    assert is_gone(pid)


def test_a_renderer_that_cannot_start_says_so_and_tries_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    renderer = TemplateRenderer()
    with monkeypatch.context() as patch:
        patch.setattr(sys, "executable", "/nonexistent/python")
        with pytest.raises(TemplateError, match="could not be started"):
            renderer.warm_up()
    assert render(renderer, PLAIN) == HELLO_TEXT
    renderer.close()


PROGRAM = """
from engine.prompt.template import TemplateRenderer

renderer = TemplateRenderer()
renderer.warm_up()
print(renderer._worker._process.pid, flush=True)
{end}
"""


@pytest.mark.parametrize(
    ("end", "exit_code"),
    [("", 0), ("raise SystemExit(3)", 3), ("import os; os._exit(4)", 4)],
    ids=["exit", "error", "abrupt"],
)
def test_the_process_ends_with_its_interpreter(end: str, exit_code: int) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM.format(end=end)],
        cwd=Path(engine.__file__).parents[1],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert (done.returncode, done.stderr) == (exit_code, "")
    pid = int(done.stdout)
    deadline = time.monotonic() + 10
    # An abrupt end leaves the process to notice by itself that nobody is there.
    while is_running(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not is_running(pid)


def is_running(pid: int) -> bool:
    """False for a zombie too: an orphan is for its new parent to reap."""
    stat = Path(f"/proc/{pid}/stat")
    if Path("/proc/self/stat").exists():
        try:
            return stat.read_text().rpartition(")")[2].split()[0] != "Z"
        except (FileNotFoundError, ProcessLookupError):
            return False
    state = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False
    ).stdout.strip()
    return bool(state) and not state.startswith("Z")


def test_a_normal_chat_costs_at_most_two_milliseconds(renderer: TemplateRenderer) -> None:
    messages = [
        {"role": ("user", "assistant")[place % 2], "content": "How warm is the floor? " * 10}
        for place in range(10)
    ]
    jobs = [RenderJob(messages, None, True)] * 5
    times = []
    for _ in range(25):
        start = time.perf_counter()
        renderer.render_batch(PLAIN, jobs)
        times.append(time.perf_counter() - start)
    # The quickest of many: other work on the machine only ever adds.
    assert min(times) <= 2e-3


def test_the_worker_imports_no_more_than_jinja2_and_the_standard_library() -> None:
    worker = Path(engine.__file__).parent / "prompt" / "template_worker.py"
    program = (
        "import runpy, sys\n"
        f"runpy.run_path({str(worker)!r})\n"
        "names = {name.partition('.')[0] for name in sys.modules}\n"
        "print(*sorted(names - sys.stdlib_module_names - {'__main__', 'sitecustomize'}))"
    )
    shown = subprocess.run(
        [sys.executable, "-I", "-c", program],
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    ).stdout.split()
    assert [name for name in shown if not name.startswith("_")] == ["jinja2", "markupsafe"]
