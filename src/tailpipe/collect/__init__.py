"""The collect room: plan, execute and summarise; each day is committed atomically and can be queried at once.

run        one partition: lock, plan, execute, finish, summarise
planner    list the sources and plan · scope: which days · identity: what became of an artifact · planning: units
execute    batches and units · packing: tasks · unit: what tasks brought → what is committed · types · duplicates
summary    what became of a partition · events: small values on the way
item       the artifact on its way through all of them
"""
