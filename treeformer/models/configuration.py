"""What the configs of all systems share."""

from __future__ import annotations

from typing import Any

from transformers import PreTrainedConfig

from treeformer.models.pretrained import check_rates, check_sizes


class SystemConfig(PreTrainedConfig):
    """Sizes that every system has.

    Args:
        vocab_size: number of tokens, source and target together; one table serves both and the output.
        d_model: width of the states.
        dropout: each system says where.
        num_labels: number of labels of a classifier.
    """

    attribute_map = {"hidden_size": "d_model"}  # noqa: RUF012
    keys_to_ignore_at_inference = ["past_key_values"]  # noqa: RUF012

    vocab_size: int = 32000
    d_model: int = 512
    dropout: float = 0.1
    bos_token_id: int = 0
    pad_token_id: int = 1
    eos_token_id: int = 2
    decoder_start_token_id: int = 2
    is_encoder_decoder: bool = True
    use_cache: bool = True

    def __post_init__(self, **extra: Any) -> None:
        super().__post_init__(**extra)
        check_sizes(self, "vocab_size", "d_model")
        check_rates(self, "dropout")
        if not 0 <= self.pad_token_id < self.vocab_size:
            raise ValueError(f"pad_token_id: expected 0 to {self.vocab_size - 1}, got {self.pad_token_id}")
