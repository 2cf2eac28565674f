"""Scores written to a hub while the recommender serves: what to write is pure, the API server is one edge."""
