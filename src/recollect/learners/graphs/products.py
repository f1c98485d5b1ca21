"""Sparse matrices in torch, and their product with a dense one, with a backward pass of its own.

Autograd would transpose the matrix at every step. Here the transposed matrix is made once; of a symmetric one it is the
same.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from recollect.streams.graphs.view import View


@dataclass(frozen=True, eq=False)
class Sparse:
    """A matrix in rows, and its transposed; `matrix @ x` has a gradient with respect to x."""

    matrix: Tensor
    transposed: Tensor

    @classmethod
    def of(cls, matrix: Any, device: torch.device, *, symmetric: bool = False) -> Sparse:
        """From scipy's."""
        rows = _csr(matrix, device)
        return cls(rows, rows if symmetric else _csr(sparse.csr_array(matrix.T), device))

    @property
    def shape(self) -> torch.Size:
        """Rows and columns."""
        return self.matrix.shape

    def __matmul__(self, x: Tensor) -> Tensor:
        product: Tensor = _Product.apply(self.matrix, self.transposed, x)  # type: ignore[no-untyped-call]
        return product


class _Product(torch.autograd.Function):
    """matrix @ x, and transposed @ gradient."""

    @staticmethod
    def forward(ctx: Any, matrix: Tensor, transposed: Tensor, x: Tensor) -> Tensor:
        ctx.transposed = transposed
        return matrix @ x

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[None, None, Tensor]:
        return None, None, ctx.transposed @ gradients[0].contiguous()


def _csr(matrix: Any, device: torch.device) -> Tensor:
    """The parts come from scipy, which has checked them."""
    with warnings.catch_warnings(), torch.inference_mode(False):
        warnings.filterwarnings("ignore", message="Sparse", category=UserWarning)
        ends, places = (torch.from_numpy(part.astype(np.int32)) for part in (matrix.indptr, matrix.indices))
        values = torch.from_numpy(matrix.data.astype(np.float32))
        return torch.sparse_csr_tensor(ends, places, values, tuple(matrix.shape)).to(device)


@dataclass(frozen=True, eq=False)
class Surroundings:
    """A graph as networks take it: features, and its edges in the form that each kind of layer needs, made once.

    `edge_features`, where there are, has one row for each column of `edge_index`.
    """

    features: Tensor | Sparse
    adjacency: Any
    device: torch.device
    offsets: Any = None
    edge_features: Tensor | None = None

    @property
    def n_nodes(self) -> int:
        """How many nodes there are."""
        return int(self.adjacency.shape[0])

    @cached_property
    def normalised(self) -> Sparse:
        """With loops, each edge over the root of both ends' degrees (Kipf and Welling 2017)."""
        looped = (self.adjacency + sparse.eye_array(self.n_nodes, dtype=np.float32, format="csr")).tocsr()
        root = sparse.diags_array((1 / np.sqrt(looped.sum(1))).astype(np.float32))
        return Sparse.of((root @ looped @ root).tocsr(), self.device, symmetric=True)

    @cached_property
    def mean(self) -> Sparse:
        """The mean of the neighbours; zero for a node without any."""
        degree = np.maximum(self.adjacency.sum(1), 1)
        return Sparse.of((sparse.diags_array((1 / degree).astype(np.float32)) @ self.adjacency).tocsr(), self.device)

    @cached_property
    def sum(self) -> Sparse:
        """The sum of the neighbours."""
        return Sparse.of(self.adjacency, self.device, symmetric=True)

    @cached_property
    def pool(self) -> Sparse:
        """The mean over the nodes of each graph, where there are several."""
        sizes = np.diff(self.offsets)
        shares = np.repeat(1 / sizes, sizes).astype(np.float32)
        shape = (len(sizes), self.n_nodes)
        return Sparse.of(sparse.csr_array((shares, np.arange(self.n_nodes), self.offsets), shape=shape), self.device)

    @cached_property
    def graph_of(self) -> Tensor:
        """The graph of each node; of one graph, zeros."""
        sizes = [self.n_nodes] if self.offsets is None else np.diff(self.offsets)
        with torch.inference_mode(False):
            return torch.from_numpy(np.repeat(np.arange(len(sizes)), sizes)).to(self.device)

    @cached_property
    def edge_index(self) -> Tensor:
        """Sources and targets of all edges, each way."""
        found = self.adjacency.tocoo()
        with torch.inference_mode(False):
            return torch.from_numpy(np.stack([found.row, found.col]).astype(np.int64)).to(self.device)

    @cached_property
    def dense_features(self) -> Tensor:
        """The features as one table."""
        features = self.features
        with torch.inference_mode(False):  # made in an evaluation, perhaps, and trained on after it
            return features if isinstance(features, Tensor) else features.matrix.to_dense()

    @classmethod
    def of(cls, view: View, device: torch.device) -> Surroundings:
        """From a view's matrices."""
        about = None if view.edge_features is None else torch.from_numpy(view.edge_features).to(device)
        if sparse.issparse(view.features):
            return cls(Sparse.of(view.features, device), view.adjacency, device, view.offsets, about)
        table = torch.from_numpy(np.ascontiguousarray(view.features, np.float32)).to(device)
        return cls(table, view.adjacency, device, view.offsets, about)
