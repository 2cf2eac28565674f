"""Snapshots in S3, against moto's server over real HTTP."""

from __future__ import annotations

from collections.abc import Iterator

import boto3
import pytest
from polars.testing import assert_frame_equal

from exporters.core.errors import StoreError
from exporters.store.read import last_snapshot
from exporters.store.shelf import open_shelf
from exporters.store.write import clear_history, write_snapshot
from tests.builders import NOON, offer, snapshot

BUCKET = "prices"


@pytest.fixture(scope="module")
def endpoint(moto_url: str) -> Iterator[str]:
    environment = {
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "eu-west-2",
        "AWS_REGION": "eu-west-2",
        "AWS_ENDPOINT_URL": moto_url,
        "AWS_ALLOW_HTTP": "true",
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        boto3.client("s3", endpoint_url=moto_url).create_bucket(
            Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": "eu-west-2"}
        )
        yield moto_url


@pytest.mark.usefixtures("endpoint")
def test_a_snapshot_lives_in_a_bucket() -> None:
    shelf = open_shelf(f"s3://{BUCKET}/tuppence")
    written = snapshot(offers=offer())

    write_snapshot(shelf, written)
    clear_history(shelf, "aws", now=NOON, retention_days=30)

    read = last_snapshot(shelf, "aws")
    assert read is not None
    assert_frame_equal(read.offers, written.offers)


@pytest.mark.usefixtures("endpoint")
def test_a_bucket_that_is_not_there_says_so() -> None:
    with pytest.raises(StoreError, match=r"store\.url"):
        write_snapshot(open_shelf("s3://absent/tuppence"), snapshot(offers=offer()))
