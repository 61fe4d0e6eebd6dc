"""Worker processes for statements of strangers: one that crashes, hangs or takes too much memory ends alone."""
