"""Continual anomaly detection: strategies (naive, cumulative, experts, replay, EWC, LwF) around any detector.

A strategy is a learner of anomaly streams: it takes the units of a stream, has one detector (or one a concept) fitted
or updated, and gives its scores. The detectors are PyOD's, scikit-learn's, two networks, or the user's own.
"""
