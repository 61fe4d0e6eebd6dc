"""The config language: `.tpc` text → syntax tree → values → nouns, with every problem and its place."""
