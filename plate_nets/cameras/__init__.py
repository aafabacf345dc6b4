"""Reads plates in video: sources -> one event per car."""
