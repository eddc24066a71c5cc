"""The field tables: the effect of each field of an instancetype or a preference, one row per field.

`instancetype` and `preference` have the rows, `verbs` the parts of rows. The other modules have the functions for the few
fields that need one.
"""
