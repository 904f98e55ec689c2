"""vocab.txt: a small vocabulary in the format of bert-base-uncased, one token a line, with words of our own choice.

Run here: python make_vocab.py
"""
import string

special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
letters = list(string.ascii_lowercase) + list(string.digits)
marks = list("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~") + ["–", "—", "‘", "’", "“", "”", "…", "€"]
other = ["一", "星", "猫", "ß", "ı", "ᄒ", "ᅡ", "ᆫ", "α", "я"]
pieces = ["##" + letter for letter in letters] + ["##ß", "##ı", "##α", "##ᅡ", "##ᆫ", "##s", "##ing", "##ed", "##er", "##est"]
words = """a an the of on in and with at by no red green blue black white star circle square photo painting cat dog cafe
hotel street light bright night day sky sea tree house two three small large round play walk sit the running""".split()
tokens = special + letters + marks + other + pieces + words
unique = list(dict.fromkeys(tokens))
with open("vocab.txt", "w", encoding="utf-8", newline="\n") as file:
    file.write("\n".join(unique) + "\n")
print(len(unique))
