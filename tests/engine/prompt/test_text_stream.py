from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from engine.prompt.codec import TextCodec
from engine.prompt.stream import TextStream

SHORT_TEXT = st.text(alphabet="abn \n😀한é", max_size=24)
STOPS = st.lists(st.text(alphabet="abn \n😀한é", min_size=1, max_size=5), max_size=4).map(tuple)


def run(codec: TextCodec, ids: Iterable[int], stop: tuple[str, ...] = ()) -> tuple[list[str], bool]:
    """What each token shows, then the rest; and whether a stop string ended the text."""
    stream = TextStream(codec, stop)
    shown = [stream.push(token_id) for token_id in ids]
    shown.append(stream.finish())
    return shown, stream.stopped


def cut(text: str, stop: tuple[str, ...]) -> str:
    return text[: min((text.find(s) for s in stop if s in text), default=len(text))]


@given(text=SHORT_TEXT, stop=STOPS, data=st.data())
def test_any_text_any_stops_any_split_into_tokens(
    codec: TextCodec, text: str, stop: tuple[str, ...], data: st.DataObject
) -> None:
    """The text is cut into pieces at random before it is tokenised, so that merges differ."""
    places = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=6)))
    pieces = [text[a:b] for a, b in zip([0, *places], [*places, len(text)], strict=True)]
    ids = [token_id for piece in pieces for token_id in codec.encode_ids(piece)]
    whole = codec.decode(ids)
    shown, stopped = run(codec, ids, stop)
    assert "".join(shown) == cut(whole, stop)
    assert stopped == any(s in whole for s in stop)


@given(data=st.data())
def test_any_tokens_even_broken_bytes_stream_as_they_decode(
    byte_codec: TextCodec, data: st.DataObject
) -> None:
    token = st.integers(0, byte_codec.vocab_size + 2)
    ids = data.draw(st.lists(token, max_size=60))
    stop = data.draw(STOPS)
    whole = byte_codec.decode(ids)
    assert "".join(run(byte_codec, ids)[0]) == whole
    assert "".join(run(byte_codec, ids, stop)[0]) == cut(whole, stop)


@given(data=st.lists(st.sampled_from(b"a\x80\xbf\xc3\xe2\x82\xac\xf0\x9f\xed\xff"), max_size=40))
@example(data=[0xF0, 0x9F] * 20)
@example(data=[0xF0, 0x9F, 0x98] * 20)
@example(data=[0xE2, 0x82, 0xE2, 0x82, 0xAC] * 8)
@example(data=[0xFF] * 40)
def test_broken_bytes_alone(byte_codec: TextCodec, byte_ids: list[int], data: list[int]) -> None:
    ids = [byte_ids[byte] for byte in data]
    assert "".join(run(byte_codec, ids)[0]) == bytes(data).decode(errors="replace")


@pytest.mark.parametrize("kind", ["byte_codec", "fallback_codec"])
def test_an_emoji_of_many_tokens_comes_once_and_whole(
    kind: str, request: pytest.FixtureRequest
) -> None:
    """Server case 1."""
    codec: TextCodec = request.getfixturevalue(kind)
    ids = codec.encode_ids("fox 🛸!")
    shown, _ = run(codec, ids)
    assert shown[-4:] == ["", "🛸", "!", ""]
    assert "".join(shown) == "fox 🛸!"


def test_text_before_an_unfinished_character_is_not_delayed(
    byte_codec: TextCodec, byte_ids: list[int]
) -> None:
    stream = TextStream(byte_codec)
    emoji = "😀".encode()
    assert [stream.push(byte_ids[byte]) for byte in b"a" + emoji[:3]] == ["a", "", "", ""]
    assert stream.finish() == "\ufffd"
    assert stream.finish() == ""


def test_broken_byte_fallback_run_keeps_what_was_shown(fallback_codec: TextCodec) -> None:
    """The decoder alone would turn the whole run, € included, into four marks."""
    euro, fox = fallback_codec.encode_ids("€")[-3:], fallback_codec.encode_ids("fox")
    assert "".join(run(fallback_codec, [*fox, *euro, euro[0], *fox])[0]) == "fox€\ufffd fox"


def test_silent_tokens_show_nothing_and_do_not_split_a_character(
    byte_codec: TextCodec, byte_ids: list[int]
) -> None:
    end = byte_codec.encode_ids("<|im_end|>")[0]
    euro = [byte_ids[byte] for byte in "€".encode()]
    unknown = byte_codec.vocab_size
    shown, _ = run(byte_codec, [end, euro[0], unknown, euro[1], end, euro[2], end])
    assert [text for text in shown if text] == ["€"]


def test_no_part_of_a_split_stop_string_is_shown(byte_codec: TextCodec) -> None:
    """Server case 4."""
    stream = TextStream(byte_codec, ("own fox",))
    shown = ""
    for token_id in byte_codec.encode_ids("The quick brown fox jumps"):
        shown += stream.push(token_id)
        assert "The quick br".startswith(shown)
    assert shown == "The quick br"
    assert stream.stopped
    assert stream.push(byte_codec.encode_ids("fox")[0]) == ""
    assert stream.finish() == ""


def test_only_a_tail_that_could_become_a_stop_string_is_held(
    byte_codec: TextCodec, byte_ids: list[int]
) -> None:
    stream = TextStream(byte_codec, ("abcd", "xyz"))
    shown = [stream.push(byte_ids[byte]) for byte in b"1abcabxya"]
    assert shown == ["1", "", "", "", "abc", "", "ab", "", "xy"]
    assert stream.finish() == "a"
    assert not stream.stopped


@pytest.mark.parametrize(
    ("text", "shown", "stopped"),
    [
        ("0abcd", "0", True),
        ("0abcx", "0a", True),
        ("0abc", "0a", True),
        ("0ab", "0ab", False),
    ],
)
def test_the_stop_string_that_begins_first_wins(
    byte_codec: TextCodec, byte_ids: list[int], text: str, shown: str, stopped: bool
) -> None:
    """ "bc" is whole before "abcd", which began earlier, is decided."""
    ids = [byte_ids[byte] for byte in text.encode()]
    pieces, ended = run(byte_codec, ids, ("abcd", "bc"))
    assert ("".join(pieces), ended) == (shown, stopped)


def test_empty_stop_strings_are_ignored(byte_codec: TextCodec) -> None:
    shown, stopped = run(byte_codec, byte_codec.encode_ids("fox"), ("",))
    assert ("".join(shown), stopped) == ("fox", False)


class CountingCodec(TextCodec):
    """Counts the tokens that are decoded."""

    num_decoded = 0

    def decode(self, ids: Iterable[int]) -> str:
        ids = list(ids)
        self.num_decoded += len(ids)
        return super().decode(ids)


@pytest.mark.parametrize(
    "data", ["온돌 fox 😀 ".encode() * 100, b"\xff" * 2000, b"\xf0\x9f\x98" * 700]
)
def test_a_token_costs_the_same_however_long_the_answer(
    byte_tokenizer: Tokenizer, byte_ids: list[int], data: bytes
) -> None:
    codec = CountingCodec(byte_tokenizer)
    stream = TextStream(codec)
    costs = []
    for byte in data:
        before = codec.num_decoded
        stream.push(byte_ids[byte])
        costs.append(codec.num_decoded - before)
    assert max(costs) <= 64
    assert max(costs[-200:]) == max(costs[200:400])
