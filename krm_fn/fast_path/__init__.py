"""Large lists, object after object."""
