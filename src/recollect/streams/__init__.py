"""Streams: data sets cut into ordered tasks, and the rules of the scenarios."""

from recollect.streams.arrays import stream_from_arrays, stream_from_npz
from recollect.streams.concepts import (
    Concepts,
    ConceptSpec,
    SourceSpec,
    concept_options,
    concept_stream,
    concepts_from_arrays,
    stream_from_concepts,
    stream_from_table,
)
from recollect.streams.data import Dataset, dataset_from_arrays
from recollect.streams.datasets import load_dataset, make_stream, stream_names
from recollect.streams.given import stream_from
from recollect.streams.images import stream_from_images
from recollect.streams.samples import Samples
from recollect.streams.scenarios import build_stream
from recollect.streams.spec import Spec
from recollect.streams.stream import Batch, Stream, StreamTask, TestBatch
from recollect.streams.values import stream_from_values

__all__ = [
    "Batch",
    "ConceptSpec",
    "Concepts",
    "Dataset",
    "Samples",
    "SourceSpec",
    "Spec",
    "Stream",
    "StreamTask",
    "TestBatch",
    "build_stream",
    "concept_options",
    "concept_stream",
    "concepts_from_arrays",
    "dataset_from_arrays",
    "load_dataset",
    "make_stream",
    "stream_from",
    "stream_from_arrays",
    "stream_from_concepts",
    "stream_from_images",
    "stream_from_npz",
    "stream_from_table",
    "stream_from_values",
    "stream_names",
]
