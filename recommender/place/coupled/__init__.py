"""Who gets the places that several want: the assignment of workloads to places with a limit, with a proven bound.

Gains and uses come in as frames, an assignment, a bound and prices of the limits go out; see choose.py beside it.
"""
