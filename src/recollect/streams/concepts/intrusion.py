"""Readers of the standard files of network intrusion: NSL-KDD and UNSW-NB15."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.errors import UsageError
from recollect.streams.concepts.checks import checked_labels
from recollect.streams.concepts.rows import Rows
from recollect.streams.concepts.tables import numbers, read_csv
from recollect.streams.locate import present

UNSW_TEST = "UNSW_NB15_testing-set.csv"

_KDD_HEADER = (
    "duration protocol_type service flag src_bytes dst_bytes land wrong_fragment urgent hot num_failed_logins"
    " logged_in num_compromised root_shell su_attempted num_root num_file_creations num_shells num_access_files"
    " num_outbound_cmds is_host_login is_guest_login count srv_count serror_rate srv_serror_rate rerror_rate"
    " srv_rerror_rate same_srv_rate diff_srv_rate srv_diff_host_rate dst_host_count dst_host_srv_count"
    " dst_host_same_srv_rate dst_host_diff_srv_rate dst_host_same_src_port_rate dst_host_srv_diff_host_rate"
    " dst_host_serror_rate dst_host_srv_serror_rate dst_host_rerror_rate dst_host_srv_rerror_rate"
)
KDD_COLUMNS = tuple(_KDD_HEADER.split())
KDD_NOMINAL = ("protocol_type", "service", "flag")
# The grouping of the KDD Cup 1999: KDDTest+ then has 7,458 DoS, 2,421 probes, 2,754 R2L and 200 U2R.
KDD_FAMILIES = {
    "DoS": "back land neptune pod smurf teardrop apache2 mailbomb processtable udpstorm",
    "Probe": "ipsweep nmap portsweep satan mscan saint",
    "R2L": "ftp_write guess_passwd imap multihop phf spy warezclient warezmaster named sendmail snmpgetattack"
    " snmpguess worm xlock xsnoop",
    "U2R": "buffer_overflow loadmodule perl rootkit httptunnel ps sqlattack xterm",
}


def read_nsl_kdd(folder: Path) -> Rows:
    """KDDTrain+.txt and KDDTest+.txt as 122 features: the nominal columns become one column per value.

    The values are those of the training file; one that only the test file has is 0 everywhere. The last column,
    how difficult a row is to classify, is dropped. A group is a family of attacks: DoS, Probe, R2L, U2R.
    """
    tables = [_kdd_table(present(folder, name) or folder / name) for name in ("KDDTrain+.txt", "KDDTest+.txt")]
    x, columns = one_hot(tables, KDD_COLUMNS, KDD_NOMINAL, "NSL-KDD")
    family = {attack: k for k, attacks in enumerate(KDD_FAMILIES.values()) for attack in attacks.split()}
    attacks = np.concatenate([table["attack"].to_numpy(dtype=str) for table in tables])
    strange = sorted({str(attack) for attack in np.unique(attacks)} - {*family, "normal"})
    if strange:
        raise UsageError(f"The labels in {folder} are normal or an attack of NSL-KDD; got {strange[0]!r}.")
    group = np.array([family.get(str(attack), -1) for attack in attacks], dtype=np.int64)
    test = np.repeat((False, True), [len(table) for table in tables])
    y = (group >= 0).astype(np.int64)
    return Rows(name="nsl-kdd", x=x, y=y, test=test, group=group, groups=tuple(KDD_FAMILIES), columns=columns)


def read_unsw_nb15(folder: Path) -> Rows:
    """UNSW_NB15_training-set.csv, and the testing set if it is there; a group is a category of attack.

    Published are 175,341 training and 82,332 test rows, but in many copies the names are the other way round.
    Where one file alone is here its rows are split by test_fraction.
    """
    paths = [path for name in ("UNSW_NB15_training-set.csv", UNSW_TEST) if (path := present(folder, name)) is not None]
    tables = [read_csv(path, sep=",") for path in paths]
    nominal = ("proto", "service", "state")
    kept = [column for column in tables[0].columns if column not in ("id", "attack_cat", "label")]
    for table, path in zip(tables, paths, strict=True):
        missing = [column for column in (*kept, *nominal, "attack_cat", "label") if column not in table.columns]
        if missing:
            raise UsageError(f"{path} is not a partition of UNSW-NB15: it has no column {missing[0]!r}.")
    x, columns = one_hot(tables, kept, nominal, "UNSW-NB15")
    category = np.concatenate([table["attack_cat"].astype(str).str.strip().to_numpy(dtype=str) for table in tables])
    label = np.concatenate([table["label"].to_numpy() for table in tables])
    y = checked_labels(label, len(x), f"the column 'label' in {folder}")
    groups = tuple(str(name) for name in np.unique(category[y == 1]))
    group = np.where(y == 1, np.searchsorted(groups, category), -1)
    test = np.repeat((False, True), [len(table) for table in tables]) if len(tables) == 2 else None
    notes = () if len(tables) == 2 else (f"{paths[0].name} alone, {len(y):,} rows: it is split into training and test",)
    return Rows(name="unsw-nb15", x=x, y=y, test=test, group=group, groups=groups, columns=columns, notes=notes)


def one_hot(
    tables: Sequence[Any], columns: Sequence[str], nominal: Sequence[str], what: str
) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """The tables under each other; a nominal column becomes a column for each value that the first table has."""
    blocks: list[NDArray[Any]] = []
    names: list[str] = []
    for column in columns:
        if column not in nominal:
            blocks.append(np.concatenate([numbers(table, [column], what) for table in tables]))
            names.append(column)
            continue
        texts = [table[column].to_numpy(dtype=str) for table in tables]
        values = np.unique(texts[0])
        blocks.append((np.concatenate(texts)[:, None] == values).astype(np.float64))
        names += [f"{column}={value}" for value in values]
    return np.concatenate(blocks, axis=1), tuple(names)


def _kdd_table(path: Path) -> Any:
    table = read_csv(path, sep=",", header=None)
    if table.shape[1] not in (len(KDD_COLUMNS) + 1, len(KDD_COLUMNS) + 2):
        raise UsageError(
            f"{path} is not a file of NSL-KDD: a line has 41 features, the attack and its difficulty;"
            f" got {table.shape[1]} columns."
        )
    return table.iloc[:, : len(KDD_COLUMNS) + 1].set_axis([*KDD_COLUMNS, "attack"], axis=1)
