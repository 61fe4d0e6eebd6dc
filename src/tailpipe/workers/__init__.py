"""Worker processes for untrusted statements: one that crashes, hangs or takes too much memory ends alone."""
