"""The built-in plugins: one folder each, written against `tailpipe.plugin` alone, found like anyone's."""
