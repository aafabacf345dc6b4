"""Measures a served pipeline: load, wirings, stages, networks; what `plates bench` runs."""
