"""The strict reader: it reads the block form that kustomize, kpt and most people write line by line, without libyaml.

It runs before libyaml, because it starts at once and is several times faster. Both give the same values and the same written
bytes. It leaves everything that it is not sure of to libyaml: an item, or, when it returns `None`, the input. It accepts:

    the list    UTF-8 without byte order mark and control characters, also a line break at the end. The keys apiVersion, kind,
                items, functionConfig and results at column 0, each once, items in block style or `[]`, its dashes at column 0;
                every other line is indented by two columns at least, empty, or a comment
    a line      `key: value`, `key:`, `- value`, `- key: value`, `- key:`, with one space behind the dash; comments, empty
                lines, blanks and a comment behind a value; no tab, only printable characters
    a key       letters, digits and `._/-`, starting with a letter, that is no YAML 1.1 boolean or null; or quoted
    a value     a plain scalar on its line that starts with a letter, a digit, a sign before a digit or one of `/_.$(`, without
                `: `; a quoted one, also on several lines; a map or list in brackets on its line; a block of text behind `|`,
                `|-`, `>` or `>-` that starts with no empty line
    an item     at most 8 MiB, with Windows line breaks too; one that is not plain, and is left to libyaml by itself, at most
                1 MiB
    a level     at most 100 of them; lists at the column of their key or deeper

So it accepts no anchors, aliases, merges, tags, plain scalars over several lines, explicit keys or document marks. It leaves a
key that is set twice to libyaml as well, which words the error.
"""
