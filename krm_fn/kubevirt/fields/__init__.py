"""The field tables: what becomes of each field of an instancetype or a preference, one row a field.

`instancetype` and `preference` hold the rows, `verbs` what rows are made of; the other modules hold the few fields that need a
function of their own.
"""
