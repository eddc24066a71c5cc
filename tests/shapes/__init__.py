"""Bundles of n of one thing, by shape: a shape gives the YAML documents of a bundle of size n, or all files of a run.

What grows is a number of objects, of entries in one object, or two such numbers at once, whose product no run may take the
time of. Beside each shape stand the ways through the program on which it was, or may become, quadratic: see `growing.WAYS`.
"""

from __future__ import annotations

from shapes import alike, folders, large, presets, references, repositories, texts

PARTS = (presets, references, large, alike, texts, folders, repositories)
SHAPES = {name: shape for part in PARTS for name, shape in part.SHAPES.items()}
