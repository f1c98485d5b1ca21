"""Do the intervals cover, does the test keep its level, does the plateau finder keep quiet?

By simulation at n = 3, 5, 10, 20 seeds: coverage of every interval on normal and on skewed scores, beside the
intervals that other tools print; false positives of the paired tests; false alarms, detections and location
errors of the plateau finder. Writes benchmarks/results/coverage.md and exits 1 when a promise is broken.

    OMP_NUM_THREADS=1 python benchmarks/statistics_coverage.py

(It is not called coverage.py because numba imports a module of that name, and would find this one.)

Takes about three minutes of one core. With rliable installed beside recollect its own code is run as well.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import platform
import sys
from pathlib import Path

import numpy as np
import scipy

from coverage_intervals import (
    RESAMPLES,
    SEEDS,
    against_rliable,
    interval_table,
    paired_table,
    stratified_table,
)
from coverage_plateaus import between_table, detection_table, false_alarm_table
from coverage_tables import percent
from recollect import __version__

RESULT = Path(__file__).parent / "results" / "coverage.md"


PAGE = """# Coverage, false positives, false alarms

Written by `OMP_NUM_THREADS=1 python benchmarks/statistics_coverage.py`
(recollect {version}, numpy {numpy}, scipy {scipy}, Python {python}).
All numbers are per cent unless said otherwise; ours in bold.

## Coverage of 95 % intervals over seeds

{sets:,} simulated data sets a row ({bootstrapped:,} with {resamples:,} resamples for BCa and both IQM).
The first five intervals are for the mean, the last two for the interquartile mean of the population.
normal(0.6, 0.05); beta(9, 1) has mean 0.9 and a long left tail, as scores near their ceiling have;
lognormal (sigma 1) is very skewed. RaptorMai's formula is the t interval. "np.std" has n in the denominator
where n - 1 belongs.

{intervals}
One IQM over ten streams (levels 0.3 to 0.9, sd 0.05 over seeds), seeds drawn within streams,
{pooled} data sets, 399 resamples:

{stratified}
{rliable}
## False positives of the paired tests at 5 %

Two equal learners whose scores share a part that belongs to the seed, {flips:,} comparisons a row.
"smallest p" is 2 / 2^n: with n = 3 and 5 the permutation tests can never reach 5 %, and say so.

{paired}
## False alarms of the plateau finder

Curves of height 1 without a plateau. Every row is the mean over 12 cases, and the worst of them measured
again: white noise, AR(0.9) noise and random walks along the tasks, of sd 0.1 and 0.3; 20 and 50 tasks;
{alarms} sets of n curves a case, {again:,} fresh ones for the worst. Seeds differ in height by 10 % too.

{false_alarms}
## Detections and location

51 tasks, a rise to height 1 that ends at the bend, the three kinds of noise together, {found} sets of curves
a row. A bend at 4 % is at the third task. "said to fall": how often a fall after the bend is claimed, which is true
of the peak alone. Error and width of the interval over seeds are in tasks. Found in fewer than 20 sets: no figures.
Seeds that collapse, scores near 0 and 1 and one class order for all seeds are in `coverage_hard.md`.

{detections}
## Saturating curves

Neither straight nor flat: how often they are said to stop rising, {found} sets of curves a cell. Within the
stream the rate of 1 - exp(-5 t) falls to a hundredth of what it was, that of 1 - exp(-3 t) to a twentieth,
that of the logarithm (of 1 to 50) to a fiftieth.

{between}
{verdict}
"""


def main() -> int:
    """Simulate, write the page, and say whether every promise held."""
    sets, bootstrapped, pooled, flips, alarms, again, detected = 40_000, 4_000, 600, 2_000, 100, 1_000, 50
    intervals, t_coverage = interval_table(sets, bootstrapped)
    paired, paired_lowest = paired_table(flips)
    false_alarms, broken = false_alarm_table(alarms, again)
    detections, falls = detection_table(detected)
    broken += falls
    for n in SEEDS:
        if n >= 5 and not 0.93 <= t_coverage["normal", n] <= 0.97:
            broken.append(f"t covers {percent(t_coverage['normal', n])} % of normal scores at n = {n}")
    if paired_lowest > 0.05:
        broken.append("the paired permutation test has more than 5 % false positives, beyond simulation noise")
    page = PAGE.format(
        version=__version__,
        numpy=np.__version__,
        scipy=scipy.__version__,
        python=platform.python_version(),
        sets=sets,
        bootstrapped=bootstrapped,
        resamples=RESAMPLES,
        intervals=intervals,
        pooled=pooled,
        stratified=stratified_table(pooled),
        rliable=against_rliable(),
        flips=flips,
        paired=paired,
        alarms=alarms,
        again=again,
        false_alarms=false_alarms,
        found=3 * detected,
        detections=detections,
        between=between_table(detected),
        verdict="Broken: " + "; ".join(broken) if broken else "Every promise held.",
    )
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(page, encoding="utf-8")
    print(page)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
