"""The operations on a workspace: one module for each, a function of the home and a request."""
