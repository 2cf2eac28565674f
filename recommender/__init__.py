"""What to do about it: observe → place → guard → advise → report and serve.

Usage and prices come in, advice comes out. Nothing is written outside Tuppence unless a mode is set and approved.
"""
