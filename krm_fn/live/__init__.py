"""What is in a cluster beside what git has: live objects, and what applying a manifest makes of them.

`applied` says what the API server stores; nothing here talks to a cluster. `merging` is the structured merge of the API
server, with the types by which it merges, `owners` the entries of `managedFields`, `applying` the ways of the tools that apply.
`dumps` recognises live objects and knows what a dump lacks. `drift` stands on `overlaying`, `adopt` on `adopting`, `plan` on
`planning`.
"""

from __future__ import annotations

from krm_fn.live.applying import applied
from krm_fn.live.owners import ApplyConflictError, ApplyRefusedError

__all__ = ["ApplyConflictError", "ApplyRefusedError", "applied"]
