"""The catalog room: which files are live, which artifacts are done, what is covered, and the hive.

catalog    open it, take a snapshot, hold a partition for writing
commit     the protocol of one transaction · verify · apply · publish · project · recover · clean
read       the state of a partition, for plans and reports · overview · snapshot: the live files
doctor     compare disk and catalog · repair · rebuild: replay all manifests
layout     the only place that spells a path
"""
