"""The pieces that learners are made of, for methods of one's own. These names stay.

`docs/own-method.md` writes a method with them. torch is imported with this module.
"""

from recollect.learners.anchored import AnchoredLearner
from recollect.learners.base import Setting, State
from recollect.learners.buffers import Balanced, Everything, GreedyBalanced, Reservoir
from recollect.learners.finetune import Finetune, NetworkLearner
from recollect.learners.holding import Anchor, Teacher
from recollect.learners.nearest_mean import nearest_mean_scores
from recollect.learners.offline import OfflineLearner
from recollect.learners.options import Anchored, Network, Offline, Replay, Train, TwoPassReplay
from recollect.learners.randomness import sub_seed
from recollect.learners.replay import ExperienceReplay, ReplayLearner
from recollect.options import option
from recollect.runs.seeds import Seeds

__all__ = [
    "Anchor",
    "Anchored",
    "AnchoredLearner",
    "Balanced",
    "Everything",
    "ExperienceReplay",
    "Finetune",
    "GreedyBalanced",
    "Network",
    "NetworkLearner",
    "Offline",
    "OfflineLearner",
    "Replay",
    "ReplayLearner",
    "Reservoir",
    "Seeds",
    "Setting",
    "State",
    "Teacher",
    "Train",
    "TwoPassReplay",
    "nearest_mean_scores",
    "option",
    "sub_seed",
]
