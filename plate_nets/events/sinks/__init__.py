"""Destinations of events: an outbox on disk, and behind it files, databases, webhooks and brokers at their own pace."""
