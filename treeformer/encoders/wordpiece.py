"""The tokenizer of a BERT, written from its vocabulary alone."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from treeformer.storage import json_bytes

_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def vocabulary_of(content: bytes, name: str) -> list[str]:
    """The pieces of a vocabulary in order, from a ``vocab.txt`` or a ``tokenizer.json``."""
    try:
        text = content.decode()
        pieces = _pieces_of_json(text) if name.endswith(".json") else text.removesuffix("\n").split("\n")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise ValueError(
            f"{name}: expected the vocabulary of a BERT, as vocab.txt or tokenizer.json"
        ) from None
    missing = [piece for piece in _SPECIAL if piece not in pieces]
    if missing or len(set(pieces)) < len(pieces):
        what = f"{missing[0]} is missing" if missing else "a piece is there twice"
        raise ValueError(f"{name}: not the vocabulary of a BERT, {what}")
    return pieces


def _pieces_of_json(text: str) -> list[str]:
    ids = json.loads(text)["model"]["vocab"]
    if sorted(ids.values()) != list(range(len(ids))):
        raise ValueError("ids are not 0, 1, 2, ...")
    return sorted(ids, key=ids.__getitem__)


def tokenizer_json(pieces: Sequence[str], *, lower_case: bool) -> bytes:
    """A ``tokenizer.json`` of the library tokenizers for these pieces; equal pieces give equal bytes.

    It neither cuts nor pads texts, which the files in circulation do in several ways.
    """
    ids = {piece: number for number, piece in enumerate(pieces)}
    tokenizer: dict[str, Any] = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [_special_token(piece, ids[piece]) for piece in _SPECIAL],
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": True,
            "strip_accents": None,
            "lowercase": lower_case,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": _post_processor(ids),
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {
            "type": "WordPiece",
            "unk_token": "[UNK]",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": ids,
        },
    }
    return json_bytes(tokenizer)


def tokenizer_config(positions: int, *, lower_case: bool) -> bytes:
    """The ``tokenizer_config.json`` that lets transformers read ``tokenizer.json`` as it is."""
    return json_bytes(
        {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "model_input_names": ["input_ids", "token_type_ids", "attention_mask"],
            "model_max_length": positions,
            "do_lower_case": lower_case,
            "pad_token": "[PAD]",
            "unk_token": "[UNK]",
            "cls_token": "[CLS]",
            "sep_token": "[SEP]",
            "mask_token": "[MASK]",
        }
    )


def _special_token(piece: str, number: int) -> dict[str, Any]:
    sides = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return {"id": number, "content": piece, **sides}


def _post_processor(ids: dict[str, int]) -> dict[str, Any]:
    """``[CLS] A [SEP]``, or ``[CLS] A [SEP] B [SEP]`` for a pair."""

    def special(piece: str, kind: int) -> dict[str, Any]:
        return {"SpecialToken": {"id": piece, "type_id": kind}}

    def text(name: str, kind: int) -> dict[str, Any]:
        return {"Sequence": {"id": name, "type_id": kind}}

    single = [special("[CLS]", 0), text("A", 0), special("[SEP]", 0)]
    return {
        "type": "TemplateProcessing",
        "single": single,
        "pair": [*single, text("B", 1), special("[SEP]", 1)],
        "special_tokens": {
            piece: {"id": piece, "ids": [ids[piece]], "tokens": [piece]} for piece in ("[CLS]", "[SEP]")
        },
    }
