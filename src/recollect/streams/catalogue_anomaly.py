"""Published data sets of anomaly detection: rows that are normal or not."""

from __future__ import annotations

from recollect.streams.published import File, Published

ANOMALY_SETS = (
    Published(
        "nsl-kdd",
        "network connections, 41 columns (122 features), attacks of four families",
        classes=2,
        n_train=125_973,
        n_test=22_544,
        input_shape=(122,),
        folders=("nsl_kdd", "NSL-KDD", "NSL_KDD", "nsl-kdd", "anomaly/nsl_kdd"),
        files=(File("KDDTrain+.txt"), File("KDDTest+.txt")),
        home="https://www.unb.ca/cic/datasets/nsl.html",
        problem="detection",
    ),
    Published(
        "unsw-nb15",
        "network flows, 42 columns, nine kinds of attack; the testing set is used if it is there",
        classes=2,
        n_train=175_341,
        n_test=82_332,
        input_shape=(),
        folders=("unsw_nb15", "UNSW-NB15", "UNSW_NB15", "unsw-nb15", "anomaly/unsw_nb15"),
        files=(File("UNSW_NB15_training-set.csv"),),
        home="https://research.unsw.edu.au/projects/unsw-nb15-dataset",
        problem="detection",
    ),
    *(
        Published(
            f"cic-ids{year}",
            "network flows of CICFlowMeter, one csv file per day, a dozen kinds of attack",
            classes=2,
            n_train=rows,
            n_test=0,
            input_shape=(),
            folders=(f"cic-ids{year}", f"CIC-IDS{year}", f"CICIDS{year}", folder, f"anomaly/cic-ids{year}"),
            files=(File(pattern),),
            home=f"https://www.unb.ca/cic/datasets/ids-{year}.html",
            problem="detection",
        )
        for year, rows, folder, pattern in (
            (2017, 2_830_743, "MachineLearningCVE", "*day*.csv"),
            (2018, 16_232_943, "CSE-CIC-IDS2018", "*-2018*.csv"),
        )
    ),
    Published(
        "skab",
        "eight sensors of a water circuit with faults, 34 labelled experiments",
        classes=2,
        n_train=37_401,
        n_test=0,
        input_shape=(8,),
        folders=("skab", "SKAB", "SKAB/data", "anomaly_timeseries/skab", "anomaly/skab"),
        files=(File("valve1/*.csv"), File("valve2/*.csv"), File("other/*.csv")),
        home="https://github.com/waico/SKAB",
        problem="detection",
    ),
    Published(
        "nab",
        "58 labelled series of servers, traffic, tweets and sensors",
        classes=2,
        n_train=365_558,
        n_test=0,
        input_shape=(),
        folders=("nab", "NAB", "anomaly_timeseries/nab", "anomaly/nab"),
        files=(File("data/*/*.csv"), File("labels/combined_windows.json")),
        home="https://github.com/numenta/NAB",
        problem="detection",
    ),
    Published(
        "adbench",
        "the tables of ADBench; a stream is named adbench:shuttle, adbench:http, ...",
        classes=2,
        n_train=0,
        n_test=0,
        input_shape=(),
        folders=(
            "adbench",
            "adbench_classical",
            "ADBench",
            "ADBench/adbench/datasets/Classical",
            "anomaly/adbench_classical",
        ),
        files=(File("*_*.npz"),),
        home="https://github.com/Minqi824/ADBench",
        problem="detection",
    ),
    Published(
        "pyclad-nsl-kdd",
        "five concepts of NSL-KDD, the example of pyCLAD, saved without a pickle",
        classes=2,
        n_train=3_000,
        n_test=4_000,
        input_shape=(41,),
        folders=("pyclad", "pyCLAD", "pyCLAD/examples/resources", "anomaly/pyclad"),
        files=(File("nsl-kdd_random_anomalies_5_concepts_1000_per_cluster_plain.npz"),),
        home="https://github.com/lifelonglab/pyCLAD (examples/resources)",
        problem="detection",
    ),
)
