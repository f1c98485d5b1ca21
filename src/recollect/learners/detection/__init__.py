"""Detectors on streams of concepts: strategies around any of them."""
