"""Rules about texts that hold no objects, since they can't be read: judged by the command `check` alone."""
