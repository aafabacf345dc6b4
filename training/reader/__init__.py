"""Training of the reader, STN and LPRNet jointly, as its recipe says."""
