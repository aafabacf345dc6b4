"""Figures as JSON, tables, plots, and the tables of docs/performance.md."""
