"""A million photos to Parquet: a listing cut into shards, which any engine can process in any order.

The unit of work is a shard: a file of rows that either exists in full or not at all, so an interrupted run can resume.
"""

from plate_nets.common.extras import needs

with needs("batch", "a batch"):
    from plate_nets.batch.plate_batch import PlateBatch

__all__ = ["PlateBatch"]
