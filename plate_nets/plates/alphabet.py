"""The symbols a plate is written in, in the order of LPRNet's classes.

GOST R 50577 uses the ten digits and the twelve Cyrillic letters that have a Latin twin;
texts are written with the Latin twin. The CTC blank is the last class.
"""

SYMBOLS = "0123456789ABEKMHOPCTYX"
BLANK = len(SYMBOLS)
CLASSES = len(SYMBOLS) + 1

DIGITS = frozenset(SYMBOLS[:10])
LETTERS = frozenset(SYMBOLS[10:])
INDEX = {symbol: index for index, symbol in enumerate(SYMBOLS)}
