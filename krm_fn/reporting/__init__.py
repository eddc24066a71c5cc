"""The report: one page about the VMs of a run, for a browser, without network access.

`describing` makes of each unit what the page needs of it, where the unit is judged (`repositories.judging`), and puts the
units, the findings and a change together. `data` has the tables that scripts show,
and `page` writes the page. The templates, styles and scripts are in `files/`.
"""
