"""Captions as LlamaGen's own code cleans them (language/t5.py of FoundationVision/LlamaGen, with ftfy 6.3.1 and
beautifulsoup4 4.14).

    python make_captions.py PATH/TO/language/t5.py [CAPTIONS...]

writes captions.json beside it; each further file, one caption a line, is answered with the SHA-256 of its cleaned
captions, one a line.
"""

import hashlib
import importlib.util
import json
import sys
import types
from pathlib import Path

CAPTIONS = [
    "A man riding a wave on top of a surfboard.",
    "  Two   DOGS,and a cat!  ",
    "a+b%20c%C3%A9 100% sure",
    "see https://example.com/a/b?c=1 and www.example.org/x-y now",
    "mail me@example.com or visit shop.example.co/it",
    "<b>bold</b> text <person> walks <br/> home",
    "@nick_name says hi to @bob",
    "\u4e2d\u6587 text \u32a5 and \u3400 signs",
    "one\u2014two \u2013 three\u2010four",
    "\u00abquoted\u00bb \u201cwords\u201d and \u2018single\u2019 ones `tick\u00b4",
    "fish &amp; chips &quot;fried&quot; &lt;hot&gt;",
    "host 192.168.0.1 is up",
    "article 5:32 ",
    "line\\nbreak and real\nbreak",
    "#12 #1234 #123456 and 1234567 items",
    "photo IMG_0042.jpg and scan.final.pdf here",
    "\"\"wow\"\" ''so'' ... good....bye",
    "***SALE*** #now [50] {off} (really) | \\ / ~ \u00a9 \u2122",
    "a . b . c",
    "this-is-my-cute-cat and_a_dog",
    "one-two three",
    "code jc6640 jc6640vc 6640vc231 j2d1a2a abc1234",
    "worldwide free shipping on all free download free",
    "click for more or click on this",
    "png image and jpeg images of page 12",
    "poster 100x200 and 3.5x4 or 20\u00d730",
    "word : other ,comma.dot/slash",
    "'quoted whole'",
    "-leading and trailing-",
    ".hidden",
    "\ufb01ne \uff21\uff22\uff23 caf\u0065\u0301",
    "\u00e9t\u00e9 \u00fcber na\u00efve \u03a9\u03bc\u03ad\u03b3\u03b1",
    "",
    "   ",
    "A 12-year-old's birthday: cake, balloons; fun!",
    "tom&jerry &#8217;s &#x2019; show",
    "x" * 30,
    "an apple (red), a pear [green]",
    "3.5 stars of 5",
    "U.S.A. flag at 7:30 p.m.",
    # Combining marks at the borders of words, which Python's \\b does not count to the word.
    "page 12\u0301 of a book",
    "code abc1234\u0301 and 123456\u0301 here",
    "see example.com\u0301/x now",
    "click\u0301 on it or click on\u0301 that",
    "one,e\u0301 two.\u0301three ,\u0915\u094d\u0937",
    "\u0939\u093f\u0928\u094d\u0926\u0940, \u092c\u093f\u0932\u094d\u0932\u0940 : \u0e41\u0e21\u0e27\u0e49 : x",
    "@nick\u0301name says #12\u0301 and @\u0939\u093f\u0902",
    "word\u0301 : other a\u203f12 under\u203fscore",
    "100x200\u0301 poster",
    # The control U+0085, and separators of ASCII, which Python takes for white space.
    "a\u0085b page\u008512 x",
    "\u0085 begins and ends \u0085",
    "5:32\u0085",
    "a\u001cb page\u001d12 \u001e. x\u001f",
    "photo\u001fname.jpg here",
    # What ftfy repairs.
    "the \ufb05 \u0133sland",
]


def reference(path):
    """The embedder's cleaning without the packages that it only needs for the network."""
    for name in ["transformers", "huggingface_hub"]:
        module = types.ModuleType(name)
        module.T5EncoderModel = module.AutoTokenizer = module.hf_hub_download = None
        sys.modules[name] = module
    spec = importlib.util.spec_from_file_location("t5", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    embedder = module.T5Embedder.__new__(module.T5Embedder)
    embedder.use_text_preprocessing = True
    return embedder.text_preprocessing


def main():
    clean = reference(sys.argv[1])
    golden = [[caption, clean(caption)] for caption in CAPTIONS]
    Path(__file__).with_name("captions.json").write_text(json.dumps(golden, indent=1) + "\n")
    for path in sys.argv[2:]:
        lines = [clean(line) for line in Path(path).read_text().splitlines()]
        print(path, hashlib.sha256("".join(line + "\n" for line in lines).encode()).hexdigest())


if __name__ == "__main__":
    main()
