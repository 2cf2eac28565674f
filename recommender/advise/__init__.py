"""From costs to advice: the record, the plan, their order and their explanation."""
