"""Training of the reader, STN and LPRNet jointly: `python -m training.reader --help`."""
