"""From a picture to its plates, in any process."""
