"""How requests for objects fail, and the message for each failure: the same for sources and for stores."""

from tailpipe.errors import ObjectStoreError
from tailpipe.storage.object_faults import Fault, fault_of, store_error

__all__ = ["Fault", "ObjectStoreError", "fault_of", "store_error"]
