#!/usr/bin/env bash
# A method developer's week in minutes, on real data (scikit-learn's digits, 1,797 images): own data, own method, options chosen
# without the test set, the experiment, watching, the table, the figures and the page. Usage: examples/week.sh [FOLDER]
set -euo pipefail
place=${1:-week}
mkdir -p "$place" && cd "$place"
say() { printf '\n== %s\n' "$*"; }

say "Monday: data of my own, from a function that returns arrays"
cat > mine.py <<'PY'
from dataclasses import dataclass

from sklearn.datasets import load_digits

from recollect.learners.pieces import ExperienceReplay, Replay, option


def digits():
    x, y = load_digits(return_X_y=True)
    return {"X": x.astype("float32") / 16, "y": [f"digit {k}" for k in y]}


@dataclass(frozen=True)
class Options(Replay):
    surprise: int = option(40, "candidates, of which those with the largest loss are replayed", low=1)


class Surprised(ExperienceReplay):
    """Tuesday: a replay method of my own, which repeats what it answers worst."""

    Options = Options

    def retrieve(self, batch):
        places = self.memory.sample(self.options.surprise)
        worst = self.losses(*self.held(places)).argsort(descending=True).numpy() if len(places) else []
        return places[worst[: self.options.memory_batch]] if len(places) else places
PY
cat > week.yaml <<'YAML'
name: week
streams: [{name: "mine:digits", label: my digits, tasks: 5}]
learners:
  - finetune
  - er: {memory: 100}
  - {"mine:Surprised": {memory: 100}, label: surprised}
  - mir: {memory: 100}
seeds: 5
tune:
  over:                             # all that are compared, alike
    er: {lr: [0.03, 0.1, 0.3], iterations: [1, 3]}
    surprised: {lr: [0.03, 0.1, 0.3], iterations: [1, 3]}
    mir: {lr: [0.03, 0.1, 0.3], iterations: [1, 3]}
  validation: 0.2
  keep: 0.5
YAML

say "Wednesday: options chosen on training samples that are held back"
sed '/^tune:/,$d' week.yaml > plain.yaml
recollect run plain.yaml -o runs --dry-run
recollect tune week.yaml -o runs

say "Thursday: the experiment; in another terminal 'recollect watch runs' shows it live"
recollect run runs/week-tuning/tuned.yaml -o runs
recollect watch runs --once

say "Friday: who is ahead, the table and the figures of the paper, the page"
recollect compare runs/week-tuned
recollect score runs/week-tuned -m AA -m AF -m split.within --wide --percent --latex
recollect score runs/week-tuned -m AA --masked --wide --percent
recollect figure aa-raa runs/week-tuned -o curves.pdf --width one --rename surprised="Surprised (ours)"
recollect report runs/week-tuned -o report.html
