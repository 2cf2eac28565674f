"""What a week's report rests on: spend and the reasons for it, prices over time, events, savings, past forecasts."""
