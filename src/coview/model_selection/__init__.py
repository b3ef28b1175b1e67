"""Many methods on the same data: which one to take, and with how many clusters."""
