"""A new version of a network into a running server: judged first, loaded beside the old one, taken back if it fails."""
