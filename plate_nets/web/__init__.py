"""`plates web`: a page to try recognition, to see cameras and events, and an HTTP API; needs the extra `web`."""
