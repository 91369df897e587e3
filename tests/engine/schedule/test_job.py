"""Jobs: phases, what is left, what it cost."""

from __future__ import annotations

from engine.request import Priority, Timings, Usage
from engine.schedule.job import Job, Phase
from tests.support.cache import compute, make_cache, run
from tests.support.engine import request

PROMPT = list(range(1, 41))


def test_phases_and_tokens_left_of_a_generating_job() -> None:
    cache = make_cache()
    job = Job(request("a", PROMPT, 3), 0.0, 3)
    seen = [(job.phase, job.num_tokens_left)]
    job.row = cache.open_row(PROMPT, limit=39)
    seen.append((job.phase, job.num_tokens_left))
    compute(cache, job.row, 39)
    seen.append((job.phase, job.num_tokens_left))
    for token in (7, 8):
        compute(cache, job.row)
        job.num_generated += 1
        job.row.tokens.append(token)
        seen.append((job.phase, job.num_tokens_left))
    assert seen == [
        (Phase.WAITING, 43),
        (Phase.PREFILL, 43),
        (Phase.DECODE, 4),
        (Phase.DECODE, 3),
        (Phase.DECODE, 2),
    ]


def test_a_job_without_answer_only_prefills() -> None:
    cache = make_cache()
    job = Job(request("a", PROMPT, 0), 0.0, 0)
    job.row = cache.open_row(PROMPT)
    compute(cache, job.row, 39)
    assert (job.phase, job.num_tokens_left) == (Phase.PREFILL, 1)


def test_usage_counts_what_was_found() -> None:
    cache = make_cache()
    run(cache, PROMPT)
    job = Job(request("a", PROMPT, 3), 0.0, 3)
    assert job.usage() == Usage(40, 0, 0)
    job.row = cache.open_row(PROMPT, limit=39)
    job.num_cached, job.num_generated = job.row.num_cached, 2
    assert job.usage() == Usage(40, 39, 2)
    assert job.usage().computed_tokens == 1
    cache.close_row(job.row)
    assert job.usage() == Usage(40, 39, 2), "also after its row has gone"


def test_times_of_phases_add_up() -> None:
    job = Job(request("a", PROMPT, 3), 10.0, 3)
    assert job.timings(12.0) == Timings(queue_s=2.0, total_s=2.0)
    job.admitted_at = 13.0
    assert job.timings(15.0) == Timings(queue_s=3.0, prefill_s=2.0, total_s=5.0)
    job.first_token_at = 16.0
    end = job.timings(20.0)
    assert end == Timings(queue_s=3.0, prefill_s=3.0, decode_s=4.0, ttft_s=6.0, total_s=10.0)
    assert end.queue_s + end.prefill_s + end.decode_s == end.total_s


def test_urgency_is_priority_then_arrival() -> None:
    jobs = [
        Job(request(name, PROMPT, 1, priority=priority), at, 1)
        for name, priority, at in (
            ("pin", Priority.PIN, 1.0),
            ("later", Priority.INTERACTIVE, 3.0),
            ("background", Priority.BACKGROUND, 0.0),
            ("sooner", Priority.INTERACTIVE, 2.0),
        )
    ]
    order = [job.request.id for job in sorted(jobs, key=lambda job: job.urgency)]
    assert order == ["sooner", "later", "background", "pin"]
