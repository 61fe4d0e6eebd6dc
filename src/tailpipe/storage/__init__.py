"""Storage: directories and files that the rooms above write and read."""
