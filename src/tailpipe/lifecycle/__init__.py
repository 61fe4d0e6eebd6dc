"""The lifecycle room: what becomes of the data after it was collected.

policy     which files are to be put together, and which days have expired; pure
compact    small files become right-sized ones
retain     days that are older than the retention go
maintain   both, after a collection
"""
