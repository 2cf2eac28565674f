"""From demand and forecasts to bursts: are the owned nodes full, what leaves, for where, for how much, until when."""
