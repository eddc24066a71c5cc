"""The language server: what `check` reports while a user types, and what an editor shows of names, fields and sizes.

`server` speaks the protocol, and is the only module that knows pygls. The others answer with plain values:

- `outline` reads the lines of a text, broken or not, as a tree of keys;
- `workspace` judges the targets that use an open file, with its unsaved text;
- `index` knows all named objects of the files and the references between them;
- `api` looks up fields, their types and values in the API of a release;
- `hovers`, `completions`, `navigation`, `hints`, `fixes` and `diagnostics` each make one kind of answer.

Lines and characters count from 0, and characters are code points; `server` converts them to what the editor counts.
"""
