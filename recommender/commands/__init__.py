"""The recommender's commands by what they are about: arguments in, one call each, rows out."""
