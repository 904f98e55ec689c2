"""The package image-reward 1.5 from a folder, without the packages' __init__, and a narrow network of its classes.

The folder has image-reward 1.5, timm 0.6.13, transformers 4.36.2, tokenizers 0.15.2 and huggingface_hub 0.20.3 (pip install
--no-deps --target FOLDER) and is put in front of sys.path: import this before any other transformers. Of fairscale only a
wrapper is imported that is not used; a stand-in takes its place.
"""
import os
import pathlib
import sys
import types

import torch

here = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(here.parent))
import recipe

reference = os.environ["IMAGEREWARD_REFERENCE"]
sys.path.insert(0, reference)
for name in ["fairscale", "fairscale.nn", "fairscale.nn.checkpoint", "fairscale.nn.checkpoint.checkpoint_activations"]:
    sys.modules[name] = types.ModuleType(name)
sys.modules["fairscale.nn.checkpoint.checkpoint_activations"].checkpoint_wrapper = lambda module: module
# Without the packages' __init__, which import what trains and other scores.
for name in ["ImageReward", "ImageReward.models"]:
    package = types.ModuleType(name)
    package.__path__ = [os.path.join(reference, *name.split("."))]
    sys.modules[name] = package
import transformers
from transformers import BertTokenizer

from_pretrained = BertTokenizer.from_pretrained
vocabulary = {"folder": str(here)}
BertTokenizer.from_pretrained = classmethod(lambda cls, name: from_pretrained(vocabulary["folder"]))

from ImageReward.ImageReward import MLP, ImageReward
from ImageReward.models.BLIP import med, vit

MED = dict(
    architectures=["BertModel"], attention_probs_dropout_prob=0.1, hidden_act="gelu", hidden_dropout_prob=0.1, hidden_size=768,
    initializer_range=0.02, intermediate_size=3072, layer_norm_eps=1e-12, max_position_embeddings=512, model_type="bert",
    num_attention_heads=12, num_hidden_layers=12, pad_token_id=0, type_vocab_size=2, vocab_size=30524, encoder_width=768,
    add_cross_attention=True)


class Narrow(ImageReward):
    """The package's class with a smaller network in it."""

    def __init__(self, n_words):
        torch.nn.Module.__init__(self)
        self.device = "cpu"
        self.blip = torch.nn.Module()
        self.blip.visual_encoder = vit.VisionTransformer(img_size=224, patch_size=16, embed_dim=128, depth=2, num_heads=2)
        config = dict(MED, hidden_size=64, intermediate_size=192, num_attention_heads=1, num_hidden_layers=3,
                      max_position_embeddings=40, vocab_size=n_words)
        config = med.BertConfig(**config)
        config.encoder_width = 128
        self.blip.text_encoder = med.BertModel(config=config, add_pooling_layer=False)
        self.blip.vision_proj = torch.nn.Linear(128, 32)
        self.blip.text_proj = torch.nn.Linear(64, 32)
        from ImageReward.ImageReward import _transform
        from ImageReward.models.BLIP.blip import init_tokenizer
        self.blip.tokenizer = init_tokenizer()
        self.preprocess = _transform(224)
        self.mlp = MLP(64)
        self.mean, self.std = 0.16717362830052426, 1.0333394966054072


def fill(model):
    """Weights by recipe, by the names of the checkpoint."""
    for name, parameter in model.named_parameters():
        shape = tuple(parameter.shape)
        if name.endswith(("cls_token", "pos_embed", "word_embeddings.weight", "position_embeddings.weight")):
            made = recipe.tensor(name, shape, spread=0.5)
        elif name.endswith(".bias"):
            made = recipe.constant(name, shape, 0.0)
        elif len(shape) == 1:
            made = recipe.constant(name, shape, 1.0)
        else:
            made = recipe.linear(name, shape)
        parameter.data = made
    return model.eval()
