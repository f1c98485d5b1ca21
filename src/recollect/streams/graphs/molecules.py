"""Molecules: a table with a column `smiles`, read by RDKit; the other columns of numbers are what is asked."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.errors import MissingExtra, UsageError
from recollect.streams.graphs.raw import RawGraph

SMILES = "smiles"
MOLECULES = (".csv", ".csv.gz")
NAMES = ("mol_id", "id", "name")
# What an atom is described by: one column for each value, and one for every other value.
ELEMENTS = (6, 7, 8, 9, 15, 16, 17, 35, 53, 5, 14, 11, 34)
DEGREES, HYDROGENS, CHARGES = (0, 1, 2, 3, 4, 5), (0, 1, 2, 3, 4), (-1, 0, 1)


def is_molecules(path: Path) -> bool:
    """Whether the first line of the file names a column smiles."""
    try:
        with _opened(path) as file:
            return SMILES in {name.strip().lower() for name in file.readline(100_000).split(",")}
    except (OSError, EOFError, UnicodeDecodeError):
        return False


def read_molecules(path: Path, name: str) -> RawGraph:
    """The molecules of a `.csv` file, plain or `.gz`: atoms are nodes, bonds edges with the bond's order as feature.

    Rows that RDKit cannot read are left out and counted. An empty cell means that nothing is known.
    """
    try:
        with _opened(path) as file:
            head, *rows = [row for row in csv.reader(file) if row]
    except (OSError, EOFError, ValueError, csv.Error):
        raise UsageError(f"{path} is not a table with a first line of names, one of them smiles.") from None
    names = [one.strip() for one in head]
    lower = [one.lower() for one in names]
    if SMILES not in lower:
        raise UsageError(f"{path} has the columns {', '.join(names)}; a table of molecules has one called smiles.")
    uneven = next((k for k, row in enumerate(rows) if len(row) != len(names)), None)
    if uneven is not None:
        raise UsageError(f"Line {uneven + 2} of {path} has {len(rows[uneven])} values; the first names {len(names)}.")
    asked = [k for k, one in enumerate(lower) if one != SMILES and one not in NAMES]
    if not asked:
        raise UsageError(f"{path} has no column beside smiles: what is to be said of a molecule?")
    values = np.array([[_number(row[k], names[k], line, path) for k in asked] for line, row in enumerate(rows)])
    atoms, bonds, orders, sizes, kept = _graphs([row[lower.index(SMILES)] for row in rows])
    if not len(kept):
        raise UsageError(f"RDKit reads none of the {len(rows):,} rows of {path}.")
    lost = len(rows) - len(kept)
    return RawGraph(
        name=name,
        source=str(path),
        edges=bonds,
        features=atoms,
        edge_features=orders,
        labels=values[kept],
        class_names=tuple(names[k] for k in asked),
        graph_of=np.repeat(np.arange(len(kept)), sizes),
        notes=(f"{lost:,} of {len(rows):,} rows are no molecules that RDKit reads, and are left out",) if lost else (),
    )


def _graphs(texts: Sequence[str]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any], NDArray[np.int64]]:
    """Features of all atoms, bonds, their orders, the number of atoms of each molecule, and which rows they are of."""
    try:
        from rdkit import Chem, RDLogger
    except ImportError:
        raise MissingExtra.of("rdkit", "molecules") from None
    RDLogger.DisableLog("rdApp.*")
    atoms: list[list[float]] = []
    bonds: list[tuple[int, int]] = []
    orders: list[float] = []
    sizes, kept = [], []
    for row, text in enumerate(texts):
        molecule = Chem.MolFromSmiles(text) if text.strip() else None
        if molecule is None or not molecule.GetNumAtoms():
            continue
        first = len(atoms)
        atoms.extend(_atom(atom) for atom in molecule.GetAtoms())
        for bond in molecule.GetBonds():
            bonds.append((first + bond.GetBeginAtomIdx(), first + bond.GetEndAtomIdx()))
            orders.append(bond.GetBondTypeAsDouble())
        sizes.append(molecule.GetNumAtoms())
        kept.append(row)
    edges = np.array(bonds, np.int64).reshape(-1, 2).T
    return np.array(atoms, np.float32), edges, np.array(orders)[:, None], np.array(sizes), np.array(kept, np.int64)


def _atom(atom: Any) -> list[float]:
    described = (
        (atom.GetAtomicNum(), ELEMENTS),
        (atom.GetDegree(), DEGREES),
        (atom.GetTotalNumHs(), HYDROGENS),
        (atom.GetFormalCharge(), CHARGES),
    )
    places = [float(value == one) for value, known in described for one in known]
    others = [float(value not in known) for value, known in described]
    return [*places, *others, float(atom.GetIsAromatic()), float(atom.IsInRing())]


def _number(text: str, column: str, line: int, path: Path) -> float:
    try:
        return float(text) if text.strip() else np.nan
    except ValueError:
        raise UsageError(
            f"{column} in line {line + 2} of {path} is {text[:40]!r}, which is not a number. Take that column out."
        ) from None


def _opened(path: Path) -> Any:
    """A text file, packed or not."""
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8", newline="")
    return path.open(encoding="utf-8", newline="")
