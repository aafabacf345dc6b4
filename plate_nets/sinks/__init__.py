"""Where events go: an outbox on disk, and behind it files, databases, webhooks and brokers, each at its own pace."""
