"""Training of the plate detector on top of the yolov5 package's trainer."""
