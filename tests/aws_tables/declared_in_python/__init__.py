"""Tables that are shipped as files, as the classes that they were before: both must give the same rows."""
