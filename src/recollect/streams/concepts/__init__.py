"""Anomaly detection streams: concepts, the rows of each, and the order in which they come."""

from recollect.streams.concepts.build import concept_stream, stream_from_concepts
from recollect.streams.concepts.concepts import Concepts, concepts_from_arrays, concepts_from_parts
from recollect.streams.concepts.generate import concepts_of_rows
from recollect.streams.concepts.rows import Rows
from recollect.streams.concepts.spec import ConceptSpec, SourceSpec, concept_options
from recollect.streams.concepts.tables import stream_from_table

__all__ = [
    "ConceptSpec",
    "Concepts",
    "Rows",
    "SourceSpec",
    "concept_options",
    "concept_stream",
    "concepts_from_arrays",
    "concepts_from_parts",
    "concepts_of_rows",
    "stream_from_concepts",
    "stream_from_table",
]
