"""The cheapest nodes that hold a set of pods, with a lower bound that certifies how far from the best a plan can be.

pods, node offers, limits → items (identical pods counted once) → columns (one node and what it holds), generated
against the dual prices of a linear programme → branching on node counts → an integer plan, its bound and its gap.
"""
