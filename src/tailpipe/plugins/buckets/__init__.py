"""What the sources of buckets share, whichever cloud they are of: a walk by layout, listing, and fetching.

Not a plugin: `plugins/aws` builds its source on it. A cloud brings a `bucket.Bucket`, and its source begins with
`source.BucketSource`.
"""
