"""What things cost: fetch → normalise → store → publish.

Prices come in from clouds, rate cards and price books, leave as offers in pounds, and are served to
Prometheus and to the recommender. Nothing here imports the recommender.
"""
