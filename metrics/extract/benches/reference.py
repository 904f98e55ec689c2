"""Pictures and texts a second of processor time, on one thread and with random weights, of pytorch-fid's Inception and
of transformers' CLIP ViT-B/32: what `cargo bench -p specimen-extract` is held against.

    python metrics/extract/benches/reference.py [BATCH] [RUNS]

Needs torch, pytorch-fid and transformers; downloads nothing.
"""
import os
import sys
import time

os.environ["OMP_NUM_THREADS"] = "1"
import pytorch_fid.inception as inception
import torch

torch.set_num_threads(1)
torch.manual_seed(0)
batch = int(sys.argv[1]) if len(sys.argv) > 1 else 16
runs = int(sys.argv[2]) if len(sys.argv) > 2 else 2


def bench(name, n, work):
    with torch.inference_mode():
        work()
        spent = []
        for _ in range(runs):
            start = time.process_time()
            work()
            spent.append(time.process_time() - start)
    print(f"{name:44s} {n / min(spent):8.2f} a CPU-second", flush=True)


# The published weights are not needed to be timed: the network that would load them keeps its random ones.
inception.load_state_dict_from_url = lambda *_, **__: {}
torch.nn.Module.load_state_dict, load = lambda *_, **__: None, torch.nn.Module.load_state_dict
network = inception.InceptionV3([3]).eval()
torch.nn.Module.load_state_dict = load
pictures = torch.rand(batch, 3, 299, 299)
bench(f"pytorch-fid Inception f32, {batch} pictures", batch, lambda: network(pictures))

from transformers import CLIPConfig, CLIPModel

clip = CLIPModel(CLIPConfig()).eval()
small = torch.randn(batch, 3, 224, 224)
bench("transformers CLIP ViT-B/32 pictures, f32", batch, lambda: clip.get_image_features(pixel_values=small))
texts = torch.randint(1, 49000, (64, 77))
bench("transformers CLIP texts, 77 tokens, f32", 64, lambda: clip.get_text_features(input_ids=texts))
