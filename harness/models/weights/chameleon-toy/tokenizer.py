"""Makes tokenizer.json: a byte-level BPE of the form of Chameleon's, small, its codes out of order.

usage: python tokenizer.py > tokenizer.json      (tokenizers 0.23)
"""
import random

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

N_CODES = 16
TEXT = [
    "Generate an image of 12x8 according to the following prompt:\n",
    "a red circle above a blue square", "a photo of a dog on the grass", "two green triangles",
]

code = lambda n: "IMGIMG" + "".join(chr(ord("A") + int(digit)) for digit in str(n)) + "Z"
codes = [code(n) for n in range(N_CODES)]
random.Random(0).shuffle(codes)
reserved = [f"<reserved{n:05d}>" for n in (8706, 8707, 8799, 8802, 8803, 8804)]
special = ["<s>", "<pad>", "</s>", "<unk>", *codes, "<eoss>", "<racm3:break>", *reserved]

tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
tokenizer.decoder = decoders.ByteLevel()
tokenizer.train_from_iterator(TEXT, trainers.BpeTrainer(
    vocab_size=len(special) + 256 + 60, special_tokens=[AddedToken(name, special=True, normalized=False) for name in special],
    initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()), show_progress=False))
print(tokenizer.to_str(pretty=False))
