"""Pretrained encoders: install them, find them, load them."""

from treeformer.encoders.installation import find, install, installed
from treeformer.encoders.loading import Encoder, encoder_name, encoder_sha256, load_encoder

__all__ = ["Encoder", "encoder_name", "encoder_sha256", "find", "install", "installed", "load_encoder"]
