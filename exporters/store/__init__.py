"""Third arrow of the flow: snapshots in Parquet, whole or not at all; the last good one stays; history by day."""
