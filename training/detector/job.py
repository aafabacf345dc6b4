"""The input of the training process."""

from dataclasses import dataclass

CLOCK = "clock.json"
"""File in the job's folder that keeps the time spent."""


@dataclass(frozen=True)
class Job:
    """One run of the yolov5 package's trainer; handed to its process as a JSON file."""

    folder: str
    data: str
    weights: str
    long_side: int
    batch: int
    minutes: float
    seed: int
    threads: int
    freeze: int
    resume: bool
    bfloat16: bool
    hyperparameters: dict[str, float]
