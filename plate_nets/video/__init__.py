"""From the plates of a video's frames to cars: tracking, fusion of evidence, events."""
