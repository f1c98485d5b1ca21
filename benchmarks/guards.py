"""Every silent error that was found, the test that holds it, and whether the test fails when the guard is taken away.

A guard is one line of the source. It is replaced in a copy of the tree, and the named test must then fail; where no
line is named, the test is looked up and nothing more. Writes benchmarks/results/guards.md; ends with 1 if a test is not
there, or passes without its guard.

    python benchmarks/guards.py [--results FILE]
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
IMPORTERS = "runs/importers"


@dataclass(frozen=True)
class Guard:
    """An error, the file and name of its test; the file under src/recollect, the line and what it is replaced by."""

    error: str
    test: str
    file: str = ""
    old: str = ""
    new: str = ""


GUARDS = (
    Guard(
        "A transposed matrix with both triangles full is read without a word",
        "tests/test_orientation.py::test_what_is_learned_along_the_rows_is_doubted_and_its_transpose_is_not",
        "orientation.py",
        "    if not _looks_learned_along_rows(scores) or",
        "    if True or not _looks_learned_along_rows(scores) or",
    ),
    Guard(
        "A matrix whose lower triangle is empty is read as it stands",
        "tests/test_orientation.py::test_an_empty_lower_triangle",
        "orientation.py",
        '        return "only its upper triangle is filled"',
        "        return None",
    ),
    Guard(
        "Every command turns a matrix when told",
        "tests/cli/test_rows.py::test_a_transposed_file_is_doubted_and_turned_when_told",
        f"{IMPORTERS}/matrices.py",
        '    if rows_are == "tasks" and R.ndim >= 2:',
        '    if rows_are == "nothing" and R.ndim >= 2:',
    ),
    Guard(
        "Several runs of one Avalanche log are one matrix",
        "tests/runs/importers/test_avalanche_appended.py::test_two_whole_runs",
        f"{IMPORTERS}/avalanche_log.py",
        "        if one == first and not",
        "        if False and one == first and not",
    ),
    Guard(
        "Two runs in one Avalanche table are one matrix",
        "tests/runs/importers/test_avalanche_appended.py::test_a_table_of_two_runs",
        f"{IMPORTERS}/avalanche.py",
        "            if event.task in (first, UNTRAINED):",
        "            if event.task in (UNTRAINED,):",
    ),
    Guard(
        "Groups of ten classes are taken for tasks where the total does not prove it",
        "tests/runs/importers/test_pycil.py",
        f"{IMPORTERS}/pycil.py",
        "    return largest if largest <= _ROUNDING else None",
        "    return largest",
    ),
    Guard(
        "Runs of a sweep in one log are taken for seeds",
        "tests/runs/importers/test_pycil.py::test_runs_of_a_sweep_are_learners_named_by_what_differs",
        f"{IMPORTERS}/pycil.py",
        "        config=one.options,",
        "        config={},",
    ),
    Guard(
        "The newest score that a PyCIL log prints is not that of its groups",
        "tests/runs/importers/test_strangers.py::test_the_newest_score_of_pycil_is_compared_with_its_groups",
        f"{IMPORTERS}/pycil.py",
        "abs(mean - entry.new) > _ROUNDING:",
        "abs(mean - entry.new) > 1000:",
    ),
    Guard(
        "Lists of eval() calls are refused or read in another order",
        "tests/runs/importers/test_avalanche_evals.py::test_calls_that_change_more_than_their_cell_are_refused",
    ),
    Guard("Linear probes as JSON lines", "tests/runs/importers/test_avalanche_evals.py::test_lines_of_linear_probes"),
    Guard(
        "Files of two learners become seeds of one",
        "tests/runs/test_naming.py::test_what_differs_between_the_paths_names_the_learner",
    ),
    Guard("Files are pooled on a guess without a word", "tests/runs/test_naming.py::test_pooling_on_a_guess_is_said"),
    Guard(
        "Files with other hyperparameters are pooled as seeds",
        "tests/runs/test_naming.py::test_options_in_a_file_are_part_of_the_learner",
    ),
    Guard(
        "A number that a file prints and no definition gives",
        "tests/runs/importers/test_pyclad.py",
        f"{IMPORTERS}/reconcile.py",
        '    return f"{WARNING}{shown}, and no definition',
        '    return f"{shown}, and no definition',
    ),
    Guard(
        "BeGin's pooled column contradicts the tasks' scores",
        "tests/runs/importers/test_reconcile.py::test_one_set_of_shares_must_fit_all_rows",
        f"{IMPORTERS}/begin.py",
        "    if worst < 1e-5 * unit:",
        "    if worst < 1e5 * unit:",
    ),
    Guard(
        "The report of l2metrics holds other scores",
        "tests/runs/importers/test_reconcile.py::test_a_report_with_other_scores_is_a_warning",
        f"{IMPORTERS}/reconcile.py",
        "        apart = [(a, b) for a, b in zip(printed, read, strict=True) if not abs(a - b) <= slack]",
        "        return run",
    ),
    Guard(
        "The column forgetting of Avalanche's table contradicts its accuracies",
        "tests/runs/importers/test_reconcile.py::test_a_forgetting_that_no_definition_gives_is_a_warning_in_every_row",
        f"{IMPORTERS}/avalanche.py",
        "    return [*_column(events), *",
        "    return [*",
    ),
    Guard(
        "FACIL's zeros above the diagonal are scores",
        "tests/runs/importers/test_seen_only_tools.py::test_facil_zeros_above_the_diagonal_were_not_evaluated",
    ),
    Guard(
        "BeGin's zeros are blanked where future tasks were evaluated",
        "tests/runs/importers/test_strict.py",
        f"{IMPORTERS}/begin.py",
        '    if increment not in ("time", ""):',
        "    if False:",
    ),
    Guard(
        "Tasks that come again end at their first visit (l2metrics)",
        "tests/runs/importers/test_strict.py::test_recurring_tasks_of_l2metrics_show_the_end",
        f"{IMPORTERS}/events.py",
        "            placed.append((after, False, scores, pooled))",
        "            pass",
    ),
    Guard(
        "Of a key that comes twice in JSON the last is taken",
        "tests/runs/importers/test_strict.py::test_keys_that_come_twice",
        f"{IMPORTERS}/files.py",
        "    if len(made) != len(pairs):",
        "    if False:",
    ),
    Guard(
        "Of two arrays of one name in an .npz file the last is taken",
        "tests/runs/importers/test_strict.py::test_arrays_that_come_twice",
        f"{IMPORTERS}/npz.py",
        "            if len(set(names)) != len(names):",
        "            if False:",
    ),
    Guard(
        "1_0 in a table is 10",
        "tests/runs/importers/test_strict.py::test_csv_cells",
        "inputs.py",
        "    if not _PLAIN_NUMBER.fullmatch(word):",
        "    if False:",
    ),
    Guard(
        "Percent signs on some of the scores",
        "tests/runs/importers/test_strict.py::test_percent_signs_on_some_scores_only_are_refused",
        f"{IMPORTERS}/build.py",
        "    if marked not in (0, len(scores)):",
        "    if False:",
    ),
    Guard(
        "Two tasks of one name",
        "tests/runs/importers/test_strangers.py::test_refusals_say_what_is_wrong",
        f"{IMPORTERS}/build.py",
        "    if len(set(names)) != len(names):",
        "    if False:",
    ),
    Guard(
        "Zeros that fill the upper triangle",
        "tests/runs/importers/test_strangers.py::test_zeros_above_the_diagonal_are_said_to_be_taken_for_measured",
        f"{IMPORTERS}/matrices.py",
        "    if not future or any(cell != 0 for cell in future):",
        "    if True:",
    ),
    Guard(
        "concept_id becomes a feature",
        "tests/streams/concepts/test_tables.py::test_the_columns_of_pyclad_are_known_and_its_number_is_no_feature",
        "streams/concepts/tables.py",
        "    taken = {*special.values(), concept, *_PYCLAD}",
        "    taken = {*special.values(), concept}",
    ),
    Guard(
        "Images with their channels last train as 32 channels",
        "tests/streams/test_arrays.py::test_images_with_the_channels_last_are_refused",
    ),
    Guard(
        "Plans with fewer rows than tasks",
        "tests/metrics/test_rows.py::test_a_quarter_of_the_rows",
    ),
    Guard("Tasks that come again", "tests/metrics/test_rows.py::test_tasks_that_come_again_by_hand"),
    Guard("Held-out tasks", "tests/metrics/test_rows.py::test_held_out_columns_are_in_no_other_family"),
    Guard(
        "A heading shows another definition",
        "tests/report/test_gather.py::test_no_other_definition_stands_in_for_one_that_was_not_measured",
    ),
    Guard(
        "A table and the end of its curve disagree",
        "tests/report/test_over_rows.py::test_the_table_and_the_end_of_the_curve_are_the_same_where_concepts_come_again",
    ),
    Guard(
        "Counts contradict scores",
        "tests/metrics/test_names.py::test_counts_that_contradict_are_refused",
        "matrix.py",
        "        wrong = np.argwhere((self.correct < 0) | (self.correct > n))",
        "        wrong = np.argwhere((self.correct < 0) & (self.correct > n))",
    ),
    Guard(
        "Equal runs of a deterministic learner get an interval",
        "tests/stats",
        "stats/estimate.py",
        "((n > 1) & (width == 0))",
        "((n > 1) & (width < 0))",
    ),
    Guard(
        "A flipped bit of a checkpoint is accepted",
        "tests/runs/test_seals.py::test_every_flipped_bit_of_a_checkpoint_is_found",
        "runs/seals.py",
        '    if data[:start] != _CHECKPOINT + digest(data[start:]) + b"\\n":',
        "    if False:",
    ),
    Guard(
        "A flipped bit of a finished row is accepted",
        "tests/runs/test_seals.py::test_no_flipped_bit_of_a_finished_run_is_accepted",
        "runs/seals.py",
        '    if digest(before.encode(), content, b"}") != seal:',
        "    if False:",
    ),
    Guard(
        "Other training data, and the run goes on",
        "tests/protocol/test_resume.py::test_other_training_samples_are_refused",
        "runs/identity.py",
        "        if self.training != other.training:",
        "        if False:",
    ),
    Guard(
        "A changed training image of equal size",
        "tests/streams/test_samples.py::test_another_image_of_equal_size_under_the_same_name_is_other_training_data",
        "streams/samples.py",
        "        return crc32(file.read())",
        "        return size",
    ),
    Guard(
        "Another learner in a folder that is there",
        "tests/runs/test_identity.py::test_a_folder_refuses_another_identity_and_is_not_touched",
        "runs/identity.py",
        "        if self.learner != other.learner:",
        "        if False:",
    ),
    Guard(
        "Other code, options or batches, and the run goes on",
        "tests/experiments/test_agreement.py"
        "::test_other_code_data_options_and_batches_are_refused_and_nothing_is_touched",
    ),
    Guard(
        "Runs of two versions of a method are averaged",
        "tests/runs/test_identity.py::test_runs_of_two_identities_are_never_averaged",
    ),
    Guard(
        "A finished run whose rows are gone",
        "tests/runs/test_seals.py::test_a_finished_run_whose_rows_are_gone_is_not_read",
    ),
    Guard("A gate passes with seeds missing", "tests/report/test_warnings.py::test_missing_seeds"),
    Guard(
        "A learner that diverged",
        "tests/problems/test_counting.py::test_a_learner_whose_weights_are_no_numbers_diverged_at_a_step",
        "problems/divergence.py",
        "    if has_broken_weights(learner):",
        "    if False:",
    ),
    Guard(
        "A misfit is found after runs have begun",
        "tests/experiments/test_agreement.py::test_a_misfit_ends_the_command_before_anything_is_on_disk",
    ),
    Guard(
        "Ray: fewer CPUs than workers wait for ever",
        "tests/experiments/test_ray.py::test_more_workers_than_cpus_wait_say_so_and_finish",
    ),
    Guard(
        "A pickle or checkpoint asks for a function and gets it",
        "tests/runs/test_safe_pickle.py::test_a_pickle_that_runs_code_is_refused_and_does_not_run",
        "runs/pickle_values.py",
        '    raise RefusedName(f"{short(module)}.{short(name)}")',
        "    return Name(name)",
    ),
    Guard(
        "An object whose arrays are views of each other comes back as another",
        "tests/learners/test_frozen.py::test_arrays_that_share_their_numbers_are_refused",
        "learners/frozen.py",
        "        if pickler.has_views():",
        "        if False:",
    ),
    Guard(
        "A link or a pipe in a run folder is followed",
        "tests/runs/test_files.py::test_nothing_but_a_plain_file_is_written_to",
        "runs/files.py",
        "    if not stat.S_ISREG(mode):",
        "    if False:",
    ),
    Guard(
        "Control characters reach the terminal",
        "tests/test_text.py::test_no_control_character_is_sent",
        "text.py",
        "    if text.isascii() and text.isprintable():",
        "    if True:",
    ),
    Guard(
        "A csv cell begins a formula",
        "tests/test_text.py::test_no_cell_of_a_csv_begins_a_formula",
        "text.py",
        'in tuple("=+-@") and not',
        'in tuple("=+-") and not',
    ),
    Guard(
        "Markdown carries a link or a tag",
        "tests/test_text.py::test_markdown_has_no_link_no_tag_and_no_bare_address",
    ),
    Guard(
        "A full disk leaves a broken file",
        "tests/runs/test_files.py::test_a_failed_write_leaves_the_old_file_and_nothing_else",
    ),
)


def is_there(guard: Guard) -> bool:
    place, _, name = guard.test.partition("::")
    return (ROOT / place).exists() and (not name or f"def {name}(" in (ROOT / place).read_text())


def tried(guard: Guard, tree: Path) -> str:
    """Whether the test notices that the guard is gone."""
    target = tree / "src" / "recollect" / guard.file
    source = target.read_text()
    if source.count(guard.old) != 1:
        return "the guard is not where it was"
    target.write_text(source.replace(guard.old, guard.new))
    environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", guard.test]
    try:
        done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, timeout=300, check=False)
    finally:
        target.write_text(source)
    return {0: "not noticed", 1: "fails without it"}.get(done.returncode, f"pytest ended with {done.returncode}")


def main() -> int:
    """Try the guards and write the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--results", type=Path, default=ROOT / "benchmarks" / "results" / "guards.md")
    given = parser.parse_args()
    verdicts = []
    with tempfile.TemporaryDirectory() as temporary:
        tree = Path(temporary)
        for part in ("src", "tests", "benchmarks", "examples"):
            shutil.copytree(ROOT / part, tree / part, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "pyproject.toml", tree)
        for guard in GUARDS:
            verdict = "not there" if not is_there(guard) else tried(guard, tree) if guard.file else "there"
            verdicts.append(verdict)
            print(f"{verdict}: {guard.error}", flush=True)
    gone = verdicts.count("fails without it")
    wrong = len(GUARDS) - gone - verdicts.count("there")
    lines = [
        "# Silent errors and the tests that hold them",
        "",
        f"`python benchmarks/guards.py`. {len(GUARDS)} errors; of {sum(bool(guard.file) for guard in GUARDS)} the guard"
        f" was taken away in a copy of the tree, and {gone} tests then failed. {wrong} wrong.",
        "",
        "| error | test | without its guard |",
        "|---|---|---|",
        *(f"| {g.error} | `{g.test.removeprefix('tests/')}` | {v} |" for g, v in zip(GUARDS, verdicts, strict=True)),
        "",
    ]
    given.results.write_text("\n".join(lines))
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
