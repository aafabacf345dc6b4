"""`plates web`: a page to try recognition and view cameras and events, and an HTTP API; needs the extra `web`."""
