"""From usage, prices and policy to the cost of every workload at every place it may go, and a choice among them."""
