"""Presets: services that are declared in terms of `connection "http"` and `source "http"`.

A preset is a class whose body is data: defaults for the options of the base, and options of its own. `{name}` in these
defaults stands for an option that the preset adds; one that is a list is requested value by value.
"""
