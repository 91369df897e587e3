from __future__ import annotations

import threading
import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers

from engine.errors import EngineError
from engine.prompt.codec import Encoded, InvalidText, TextCodec


@given(text=st.text(max_size=40))
def test_any_text_survives_the_round_trip(codec: TextCodec, text: str) -> None:
    encoded = codec.encode(text)
    assert codec.decode(encoded.ids) == text
    assert codec.encode_ids(text) == encoded.ids
    assert len(encoded.offsets) == len(encoded.ids)


def test_special_tokens_in_the_text_are_recognised_and_none_are_added(
    byte_codec: TextCodec,
) -> None:
    start, end = (byte_codec.encode_ids(text) for text in ("<|im_start|>", "<|im_end|>"))
    assert len(start) == len(end) == 1
    ids = byte_codec.encode_ids("<|im_start|>user\nfox<|im_end|>")
    assert ids[:1] == start
    assert ids[-1:] == end
    assert byte_codec.decode(ids) == "user\nfox"
    assert byte_codec.encode_ids("") == ()


def test_silent_tokens(byte_codec: TextCodec) -> None:
    special, text, tool = (
        byte_codec.encode_ids(text)[0] for text in ("<|im_end|>", "fox", "<tool_call>")
    )
    assert byte_codec.is_silent(special)
    assert byte_codec.is_silent(byte_codec.vocab_size)
    assert not byte_codec.is_silent(byte_codec.vocab_size - 1)
    assert not byte_codec.is_silent(text)
    assert not byte_codec.is_silent(tool)
    assert byte_codec.decode([tool]) == "<tool_call>"


def test_digits_stand_alone_in_the_digit_splitting_variant(
    byte_codec: TextCodec, digit_codec: TextCodec
) -> None:
    assert len(digit_codec.encode_ids("1234567")) == 7
    assert len(byte_codec.encode_ids("1234567")) < 7


def test_offsets_are_characters_and_a_split_character_shares_its_range(
    byte_codec: TextCodec,
) -> None:
    encoded = byte_codec.encode("a🛸b")
    assert encoded.offsets == ((0, 1), (1, 2), (1, 2), (1, 2), (2, 3))
    assert [encoded.num_tokens_before(char) for char in range(4)] == [0, 1, 4, 5]


def test_a_boundary_inside_a_token_falls_to_its_start() -> None:
    encoded = Encoded(ids=(7, 8), offsets=((0, 4), (4, 9)))
    assert [encoded.num_tokens_before(char) for char in (0, 3, 4, 8, 9, 50)] == [0, 0, 1, 1, 2, 2]


@pytest.mark.parametrize(
    ("text", "place"), [("\ud83d", 0), ("abc\udfff", 3), ("한\ude00\ud83d", 1)]
)
def test_lone_surrogates_are_refused_by_name_and_place(
    byte_codec: TextCodec, text: str, place: int
) -> None:
    with pytest.raises(
        InvalidText, match=rf"U\+{ord(text[place]):04X}.* character {place};"
    ) as info:
        byte_codec.encode(text)
    assert isinstance(info.value, ValueError)
    assert isinstance(info.value, EngineError)
    with pytest.raises(InvalidText):
        byte_codec.encode_ids(text)


def test_truncation_and_padding_of_the_file_are_off() -> None:
    tokenizer = Tokenizer(models.WordLevel({"fox": 0, "[PAD]": 1}, unk_token="fox"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.enable_truncation(max_length=2)
    tokenizer.enable_padding(pad_id=1, length=8)
    assert TextCodec(tokenizer).encode_ids("fox " * 5) == (0, 0, 0, 0, 0)


def test_other_threads_run_while_a_long_text_is_encoded(byte_codec: TextCodec) -> None:
    text = "The quick brown fox jumps over the lazy dog. " * 8_000
    done = threading.Event()
    beats: list[float] = []

    def beat() -> None:
        while not done.wait(5e-4):
            beats.append(time.perf_counter())

    thread = threading.Thread(target=beat)
    thread.start()
    start = time.perf_counter()
    byte_codec.encode_ids(text)
    end = time.perf_counter()
    done.set()
    thread.join()
    marks = [start, *(at for at in beats if start < at < end), end]
    assert max(right - left for left, right in pairwise(marks)) < (end - start) / 2
