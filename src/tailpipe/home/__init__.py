"""The home of a workspace: its config, directories, catalog, stores and engine, opened when they are first needed."""
