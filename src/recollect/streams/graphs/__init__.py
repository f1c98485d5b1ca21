"""Graphs: nodes, links and whole graphs as samples, and what of the graph may be seen at each step."""
