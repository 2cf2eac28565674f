"""A demonstration company: five clusters, their policy, and a week of usage made from a seed.

Stands beside the flow: it writes the files that a user would feed in, and nothing downstream knows that they are
made up.
"""
