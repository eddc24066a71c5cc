"""`python -m krm_fn` is `kubevirt-render`."""

from __future__ import annotations

import sys

from krm_fn.main import main

sys.exit(main())
