"""Second arrow of the flow: choose the row, split the machine price, convert to pounds, check it. Pure."""
