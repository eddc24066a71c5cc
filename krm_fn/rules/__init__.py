"""Rules turn facts into findings. `registry` declares, loads and runs them."""
