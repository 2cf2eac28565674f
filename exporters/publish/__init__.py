"""Fourth arrow of the flow: prices of the last snapshots rendered once as metrics, and served with their pages."""
