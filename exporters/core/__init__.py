"""Words that both packages share: money, units, clock, geography, frames, errors; and the common edges."""
