"""A million photos to Parquet: a listing cut into shards, which any engine works off in any order.

The unit of work is a shard: a file of rows, there whole or not at all. So a run that ended anywhere goes on.
"""

from plate_nets.extras import needs

with needs("batch", "a batch"):
    from plate_nets.batch.plate_batch import PlateBatch

__all__ = ["PlateBatch"]
