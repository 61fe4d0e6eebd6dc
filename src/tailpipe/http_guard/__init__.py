"""The guard in front of HTTP servers, and its two policies: for browsers and for programs."""
