"""The explorer: a page in the browser over the same sessions as `tailpipe query`, served on this machine."""
