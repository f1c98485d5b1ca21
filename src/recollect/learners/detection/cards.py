"""The cards of the strategies."""

from __future__ import annotations

from recollect.learners.base import LearnerCard
from recollect.learners.detection import options

_UNIT = "one fit of the newest unit before each evaluation, or one update a unit"

CARDS: tuple[LearnerCard, ...] = (
    LearnerCard(
        name="naive",
        summary="A detector fitted on the newest unit alone, or updated with it if it can be.",
        source="the lower bound; pyCLAD",
        maker="recollect.learners.detection.strategies:Naive",
        options=options.Detection,
        stores="nothing of earlier units",
        costs=_UNIT,
        extra=None,
        problems=("detection",),
    ),
    LearnerCard(
        name="cumulative",
        role="reference",
        summary="A detector fitted from nothing on all data seen so far.",
        source="the upper bound; pyCLAD",
        maker="recollect.learners.detection.strategies:Cumulative",
        options=options.Detection,
        stores="every sample of the stream",
        costs="one fit of all data seen before each evaluation",
        extra=None,
        problems=("detection",),
    ),
    LearnerCard(
        name="experts",
        summary="A detector for each concept, asked by the concept's id.",
        source="multiple single-task experts; pyCLAD",
        maker="recollect.learners.detection.experts:Experts",
        options=options.Experts,
        stores="the newest visit of each concept, or a network for each",
        costs=_UNIT,
        extra=None,
        problems=("detection",),
    ),
    LearnerCard(
        name="replay",
        summary="A detector fitted on the newest unit together with a memory of earlier ones.",
        source="Vitter 1985 for the reservoir; pyCLAD for the balanced memory",
        maker="recollect.learners.detection.strategies:Replay",
        options=options.ReplayDetection,
        stores="`memory` samples",
        costs="one fit of memory and newest unit before each evaluation, or one update with both a unit",
        extra=None,
        problems=("detection",),
    ),
    LearnerCard(
        name="drift",
        summary="A detector that is fitted anew when a monitor of its scores signals a drift.",
        source="Gama et al. 2014 for the scheme; Bifet and Gavalda 2007 (ADWIN), Page 1954, Raab et al. 2020 (KSWIN)",
        maker="recollect.learners.detection.drift:DriftDetector",
        options=options.DriftDetection,
        stores="`recent` samples since the last drift",
        costs="one score of every sample, and one fit after a drift",
        extra=None,
        problems=("detection",),
    ),
    LearnerCard(
        name="ewc_detector",
        summary="Online EWC for a detector with weights: those with large gradients stay near their values.",
        source="Kirkpatrick et al. 2017; Schwarz et al. 2018",
        maker="recollect.learners.detection.regularised:EWCDetector",
        options=options.AnchoredDetection,
        stores="the weights twice (anchor, importance)",
        costs="one update a unit, and `samples` single passes after it",
        problems=("detection",),
    ),
    LearnerCard(
        name="lwf_detector",
        summary="Learning without forgetting for a detector with weights: its outputs stay near those before the unit.",
        source="Li and Hoiem 2016",
        maker="recollect.learners.detection.regularised:LwFDetector",
        options=options.DistilledDetection,
        stores="the network once more, as the teacher",
        costs="one update a unit, with a forward pass of the teacher a step",
        problems=("detection",),
    ),
)
