-- title: Types, extremes, distinct values and nulls of columns
-- tags: cookbook, data

SUMMARIZE (SELECT status, method, path, bytes FROM access_log)
