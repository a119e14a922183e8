"""Base of the configs of all systems."""

from __future__ import annotations

from typing import Any

from transformers import PreTrainedConfig

from treeformer.models.pretrained_words import PretrainedSettings


class SystemConfig(PreTrainedConfig):
    """Sizes that every system has.

    Args:
        vocab_size: number of tokens, source and target together; one table serves both and the output.
        d_model: width of the states.
        dropout: dropout rate; each system documents where it applies.
        num_labels: number of labels of a classifier.
        pretrained: the encoder that gives the vectors of words in the place of a table, see
            `PretrainedSettings`; None for a table.
    """

    attribute_map = {"hidden_size": "d_model"}  # noqa: RUF012
    keys_to_ignore_at_inference = [  # noqa: RUF012  # predictions of a Trainer are the logits alone
        *("past_key_values", "leaf_logits", "node_logits", "leaf_weights", "hidden_states", "attentions"),
        "encoder_last_hidden_state",
    ]

    vocab_size: int = 32000
    d_model: int = 512
    dropout: float = 0.1
    pretrained: dict[str, Any] | None = None
    bos_token_id: int = 0
    pad_token_id: int = 1
    eos_token_id: int = 2
    decoder_start_token_id: int = 2
    is_encoder_decoder: bool = True
    use_cache: bool = True

    def __post_init__(self, **extra: Any) -> None:
        super().__post_init__(**extra)
        self.check_sizes("vocab_size", "d_model")
        self.check_rates("dropout")
        if self.pretrained is not None:
            PretrainedSettings.from_content(self.pretrained, "pretrained")
        if not 0 <= self.pad_token_id < self.vocab_size:
            raise ValueError(f"pad_token_id: expected 0 to {self.vocab_size - 1}, got {self.pad_token_id}")

    def check_sizes(self, *names: str) -> None:
        """Refuse a field that is not a positive whole number."""
        for name in names:
            value = getattr(self, name)
            if not isinstance(value, int) or value < 1:
                raise ValueError(f"{name}: expected a whole number, at least 1, got {value!r}")

    def check_rates(self, *names: str) -> None:
        """Refuse a field that is not a dropout rate."""
        for name in names:
            value = getattr(self, name)
            if not isinstance(value, int | float) or not 0 <= value < 1:
                raise ValueError(f"{name}: expected a rate from 0 to less than 1, got {value!r}")

    def check_choice(self, name: str, choices: tuple[str, ...]) -> None:
        """Refuse a field that is none of the choices."""
        value = getattr(self, name)
        if value not in choices:
            raise ValueError(f"{name}: expected one of {', '.join(choices)}, got {value!r}")
