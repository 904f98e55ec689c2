"""Processor seconds of one pass of this program and of a reference implementation, in turns, on one thread each and with made
weights: the least of each over the turns, and their ratio. A busy machine disturbs both alike.

    cargo bench --profile release -p specimen-extract --bench networks --no-run     # prints where PROGRAM is
    python metrics/extract/benches/turns.py PROGRAM NAME N TURNS

NAME is a network of open_clip (clip-vit-h14, clip-vit-h14-text, clip-vit-l14), aesthetic (against CLIP ViT-L/14 alone),
lpips-alex, lpips-vgg, lpips-squeeze (against the package lpips; with `-trunk` behind it against the trunk alone, of both
pictures), or imagereward (against the package, from IMAGEREWARD_REFERENCE: see tests/golden/imagereward/package.py). N counts
pictures, texts or pairs. Needs torch and what the name says; downloads nothing.
"""
import os
import pathlib
import subprocess
import sys
import time

os.environ["OMP_NUM_THREADS"] = "1"
import torch

torch.set_num_threads(1)
torch.set_grad_enabled(False)
torch.manual_seed(0)
program, name, n, turns = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
ours = name.removesuffix("-trunk")


def of_open_clip(model, texts=False):
    import open_clip

    net = open_clip.create_model(model, pretrained=None).eval()
    if texts:
        ids = torch.arange(1, 78).repeat(n, 1)
        ids[:, -1] = 49407
        return lambda: net.encode_text(ids)
    pixels = torch.randn(n, 3, 224, 224)
    return lambda: net.encode_image(pixels)


def of_lpips(trunk):
    import lpips

    net = lpips.LPIPS(pretrained=False, net=ours.removeprefix("lpips-"), pnet_rand=True, verbose=False).eval()
    a, b = torch.rand(n, 3, 256, 256) * 2 - 1, torch.rand(n, 3, 256, 256) * 2 - 1
    both = torch.cat([a, b])
    return (lambda: net.net(both)) if trunk else (lambda: net(a, b))


def of_imagereward():
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests/golden/imagereward"))
    from package import MED, MLP, med, vit

    vision = vit.VisionTransformer(img_size=224, patch_size=16, embed_dim=1024, depth=24, num_heads=16).eval()
    config = med.BertConfig(**MED)
    config.encoder_width = 1024
    text, head = med.BertModel(config=config, add_pooling_layer=False).eval(), MLP(768).eval()
    pixels, ids = torch.randn(n, 3, 224, 224), torch.arange(1, 36).repeat(n, 1)
    mask = (torch.arange(35) < 7).long().repeat(n, 1)

    def work():
        image = vision(pixels)
        seen = torch.ones(image.shape[:-1], dtype=torch.long)
        output = text(ids, attention_mask=mask, encoder_hidden_states=image, encoder_attention_mask=seen, return_dict=True)
        return head(output.last_hidden_state[:, 0])

    return work


def reference():
    if name.startswith("lpips"):
        return of_lpips(name.endswith("-trunk"))
    if name == "imagereward":
        return of_imagereward()
    if name in ("aesthetic", "clip-vit-l14"):
        return of_open_clip("ViT-L-14-quickgelu")
    return of_open_clip("ViT-H-14", name.endswith("-text"))


own = subprocess.Popen([program, "--turns", ours, str(n)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
work = reference()
work()
assert own.stdout.readline().strip() == "ready"
found = []
for _ in range(turns):
    start = time.process_time()
    work()
    theirs = time.process_time() - start
    own.stdin.write("go\n")
    own.stdin.flush()
    found.append((float(own.stdout.readline()), theirs))
own.stdin.close()
least = [min(side) for side in zip(*found)]
ratios = sorted(mine / theirs for mine, theirs in found)
print(f"{name:20} {n:3} a pass, {turns} turns: {least[0]:.2f} s here, {least[1]:.2f} s the reference; "
      f"ratio of the least {least[0] / least[1]:.3f}, of turns {ratios[0]:.3f} to {ratios[-1]:.3f}", flush=True)
