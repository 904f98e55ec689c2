"""fc2.npy: the output of `classifier[:4]` of torchvision's VGG16 with weights by recipe, for 2 pictures by recipe.

Run here: python make.py   (torch 2.13, torchvision 0.28)
"""
import sys

import torch
import torchvision

sys.path.insert(0, "..")
import recipe

torch.set_num_threads(1)
net = torchvision.models.vgg16(weights=None, init_weights=False).eval()
for name, parameter in net.named_parameters():
    shape = tuple(parameter.shape)
    if name.endswith(".bias"):
        made = recipe.constant(name, shape, 0.0)
    elif name.startswith("features."):
        made = recipe.convolution(name, shape)
    else:
        made = recipe.linear(name, shape)
    parameter.data = made
pictures = recipe.tensor("pictures", (2, 3, 224, 224), spread=2.0)
with torch.inference_mode():
    x = net.avgpool(net.features(pictures)).flatten(1)
    recipe.save("fc2.npy", net.classifier[:4](x))
