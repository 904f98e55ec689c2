"""Python side of specimen, the benchmark of speculative decoding for autoregressive image models.

- ``serve`` turns a function into an external method, which specimen measures next to its own.
- ``load`` reads a run folder into data frames.
- ``fid`` and the other metrics call the program and return value, interval and protocol.

Nothing beyond the standard library is needed. pandas and polars are used where they can be imported.
"""

from specimen.errors import Error
from specimen.metrics import (
    Measurement,
    Prdc,
    aesthetic,
    clip_score,
    cmmd,
    fid,
    hpsv2,
    imagereward,
    inception_score,
    kid,
    lpips,
    pickscore,
    prdc,
    psnr,
    ssim,
    vendi,
)
from specimen.protocol import Answer, Model, Request, Sampling
from specimen.runs import Run, load
from specimen.serving import serve

__all__ = [
    "Answer",
    "Error",
    "Measurement",
    "Model",
    "Prdc",
    "Request",
    "Run",
    "Sampling",
    "aesthetic",
    "clip_score",
    "cmmd",
    "fid",
    "hpsv2",
    "imagereward",
    "inception_score",
    "kid",
    "load",
    "lpips",
    "pickscore",
    "prdc",
    "psnr",
    "serve",
    "ssim",
    "vendi",
]
