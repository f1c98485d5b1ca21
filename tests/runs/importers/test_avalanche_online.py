"""Online streams: small experiences with numbers of their own, in the text log and in JSON lines."""

from __future__ import annotations

import pytest

from recollect.errors import UsageError
from recollect.runs import group, load_all
from recollect.runs.importers import avalanche
from tests.runs.importers.make_fixtures import (
    avalanche_evaluation,
    avalanche_json_line,
    avalanche_online,
    avalanche_training,
)

# What make_fixtures.py writes, typed again.
R = [[0.6667, None, None], [0.3333, 0.7143, None], [0.1429, 0.2857, 0.8571]]
EXACT = [[2 / 3, None, None], [1 / 3, 5 / 7, None], [1 / 7, 2 / 7, 6 / 7]]
SEEN = ({0: 0.9}, {0: 0.5, 1: 0.8}, {0: 0.25, 1: 0.0, 2: 0.75})
SEEN_R = [[0.9, None, None], [0.5, 0.8, None], [0.25, 0.0, 0.75]]
ALL = ({0: 0.9, 1: 0.1, 2: 0.2}, {0: 0.5, 1: 0.8, 2: 0.3}, {0: 0.25, 1: 0.0, 2: 0.75})
ALL_R = [[0.9, 0.1, 0.2], [0.5, 0.8, 0.3], [0.25, 0.0, 0.75]]
ANEW = (range(4), range(4), range(4))
ON = (range(4), range(4, 8), range(8, 12))


def log_of(phases, evaluations, inside=""):
    pairs = zip(phases, evaluations, strict=True)
    return "".join(avalanche_training(phase, inside) + avalanche_evaluation(scores) for phase, scores in pairs)


def cut_off(phase, inside=""):
    return avalanche_training(phase, inside).split("-- >> End of training")[0]


@pytest.fixture
def read(tmp_path):
    def read_text(text):
        path = tmp_path / "naive" / "logs"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        (run,) = avalanche.read(path)
        return run

    return read_text


def test_the_fixtures_are_what_their_script_writes(fixtures, tmp_path, monkeypatch):
    monkeypatch.setattr("tests.runs.importers.make_fixtures.HERE", tmp_path)
    avalanche_online()
    for name in ("logs.txt", "logs.json"):
        written = tmp_path / "avalanche" / "online" / name
        assert written.read_bytes() == (fixtures / "avalanche" / "online" / name).read_bytes()


def test_both_files_of_a_run_give_its_matrix(fixtures, same):
    (log,) = avalanche.read(fixtures / "avalanche" / "online" / "logs.txt")
    (lines,) = avalanche.read(fixtures / "avalanche" / "online" / "logs.json")
    same(log.matrix.R, R)
    same(lines.matrix.R, EXACT)
    assert [task.name for task in log.tasks] == ["experience 0", "experience 1", "experience 2"]
    assert [task.name for task in lines.tasks] == ["experience 0", "experience 1", "experience 2"]
    (note,) = [note for note in log.notes if "online" in note]
    assert "up to 4 small experiences" in note
    assert "the phases are taken for the experiences, numbered as they come" in note


@pytest.mark.parametrize("phases", [ANEW, ON], ids=["anew", "on"])
@pytest.mark.parametrize(("evaluations", "expected"), [(SEEN, SEEN_R), (ALL, ALL_R)], ids=["seen", "all"])
def test_numbers_that_start_anew_and_numbers_that_go_on(read, same, phases, evaluations, expected):
    run = read(log_of(phases, evaluations))
    same(run.matrix.R, expected)
    assert any("an online stream" in note for note in run.notes)


def test_untrained_scores_come_before_the_phases(read, same):
    run = read(avalanche_evaluation({0: 0.1, 1: 0.2, 2: 0.3}) + log_of(ANEW, ALL))
    same(run.matrix.b, [0.1, 0.2, 0.3])
    same(run.matrix.R, ALL_R)


def test_evaluations_inside_a_phase_are_no_ends(read, same):
    run = read(log_of(ANEW, SEEN, inside=avalanche_evaluation({0: 0.4})))
    assert [row.after for row in run.rows if not row.task_end] == [-1] * 4 + [0] * 4 + [1] * 4
    same(run.matrix.R[run.matrix.learned_at], SEEN_R)


def test_evaluations_inside_phases_only_say_that_none_is_an_end(read):
    run = read("".join(avalanche_training(phase, avalanche_evaluation(SEEN[2])) for phase in ANEW))
    assert not any(row.task_end for row in run.rows)
    assert any("none is an experience's end" in note for note in run.notes)


def test_the_validation_stream_beside_does_not_matter(read, same):
    inside = avalanche_evaluation({0: 0.4, 1: 0.4, 2: 0.4, 3: 0.4}, stream="valid")
    same(read(log_of(ANEW, SEEN, inside)).matrix.R, SEEN_R)


def test_few_small_experiences_are_told_by_evaluations_of_what_was_learned(read, same):
    # Numbers 0 to 2 are all evaluated in the end, but not after the first phase, which trained them all.
    same(read(log_of([range(3)] * 3, SEEN)).matrix.R, SEEN_R)


@pytest.mark.parametrize(
    "text",
    [
        log_of(ANEW[:2], ALL[:2]) + cut_off(range(3)),
        log_of(ANEW[:2], SEEN[:2]) + cut_off(range(3), inside=avalanche_evaluation(SEEN[2])),
    ],
    ids=["all", "seen"],
)
def test_a_phase_cut_off_is_not_learned(read, text):
    run = read(text)
    assert [row.after for row in run.rows if row.task_end] == [0, 1]
    assert [row.scores["accuracy"][:2] for row in run.rows if row.task_end][1] == (0.5, 0.8)
    assert any("2 of 3 experiences were learned" in note for note in run.notes)


def test_a_score_cut_off_is_left_out(read, same):
    run = read(log_of(ANEW, SEEN) + "\tTop1_Acc_Exp/eval_phase/test_stream/Task000/Exp002 = 0.7")
    same(run.matrix.R, SEEN_R)


def test_a_phase_of_its_own_experience_in_small_parts_keeps_its_number(read, same):
    run = read(log_of(([1, 1, 1], [0, 0, 0]), ({1: 0.9}, {0: 0.5, 1: 0.8})))
    assert [task.name for task in run.tasks] == ["experience 1", "experience 0"]
    same(run.matrix.R, [[0.9, None], [0.8, 0.5]])


def test_several_experiences_a_phase_that_are_the_evaluated_ones_are_learned_in_turn(read, same):
    inside = avalanche_evaluation({0: 0.4, 1: 0.4, 2: 0.4})
    run = read(log_of(([1, 0, 2],), ({0: 0.5, 1: 0.6, 2: 0.7},), inside))
    assert [task.name for task in run.tasks] == ["experience 1", "experience 0", "experience 2"]
    assert [(row.after, row.task_end) for row in run.rows] == [(-1, False), (0, False), (1, False), (2, True)]
    same(run.matrix.R[-1], [0.6, 0.5, 0.7])
    assert any("each is taken for learned when training on the next begins" in note for note in run.notes)


def test_a_stream_gone_through_again_and_again_is_learned_once(read, same):
    run = read(log_of([range(2)] * 3, [{0: 0.5, 1: 0.6}, {0: 0.6, 1: 0.7}, {0: 0.7, 1: 0.8}]))
    assert [(row.after, row.task_end) for row in run.rows] == [(1, True), (1, False), (1, False)]
    assert run.rows[0].scores["accuracy"] == (0.5, 0.6)


@pytest.mark.parametrize(
    "text",
    [
        # Three passes over three experiences, or three experiences in three parts each.
        log_of([range(3)] * 3, ALL),
        # Two runs in one file, or one that was started again.
        log_of(ANEW, SEEN) * 2,
        log_of(ANEW[:1], SEEN[:1]) + log_of(ANEW[:2], SEEN[:2]),
        cut_off(range(4)) + log_of(ANEW, ALL),
        cut_off(range(4)) + log_of(ANEW[:2], ALL[:2]),
        # The beginning is not in the file: which phase was the first?
        log_of(ANEW, SEEN).split("<< --\n", 1)[1],
        log_of(ANEW[1:], SEEN[1:]),
        # A whole stream in one call, evaluated on fewer experiences.
        log_of((range(9),), ({0: 0.5, 1: 0.5},)),
        log_of(ON[:2], ALL[:2]),
        # After the second phase only the first experience was evaluated.
        log_of(ANEW, ({0: 0.9}, {0: 0.5}, {0: 0.25, 1: 0.0, 2: 0.75})),
    ],
)
def test_phases_that_cannot_be_told_are_refused(read, text):
    with pytest.raises(UsageError, match="which phase learned which of them cannot be told"):
        read(text)


def test_a_table_that_names_the_last_small_experience_is_refused(read):
    with pytest.raises(UsageError, match=r"learned \(237\) was evaluated \(0, 1 were\)"):
        read(
            "eval_exp,training_exp,eval_accuracy,eval_loss,forgetting\n"
            "0,237,0.9000,0.1,0\n0,237,0.5000,0.1,0\n1,237,0.8000,0.1,0\n"
        )


def test_json_lines_of_one_metric_each(read, same):
    lines = "".join(avalanche_json_line(10 * (i + 1), {j: x}) for i, row in enumerate(SEEN) for j, x in row.items())
    same(read(lines).matrix.R, SEEN_R)


def test_one_json_line(read, same):
    same(read(avalanche_json_line(10, {0: 0.9})).matrix.R, [[0.9]])


def test_json_lines_with_untrained_scores_and_gaps(read, same):
    lines = [avalanche_json_line(7 * i, scores) for i, scores in enumerate(({0: 0.1, 1: 0.2, 2: 0.3}, *ALL))]
    run = read("\n".join(lines).replace("0.75}", "NaN}"))
    same(run.matrix.b, [0.1, 0.2, 0.3])
    same(run.matrix.R, [*ALL_R[:2], [0.25, 0.0, None]])


GOOD = "".join(avalanche_json_line(10 * (i + 1), scores) for i, scores in enumerate(SEEN))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (GOOD[:-20], "line 3 is .* Is the file whole"),
        (GOOD + "Killed\n", "line 4 is 'Killed'"),
        (GOOD + '{"Loss": 1.0}\n', "expected an object with a step"),
        (GOOD + '{"step": "many"}\n', "expected an object with a step"),
        (GOOD + "[1, 2]\n", "expected an object with a step"),
        (GOOD + "[" * 100_000, "line 4 is"),
        (GOOD[:40], "is not JSON"),
        (GOOD[40:], "line 1 is"),
        (GOOD.replace("0.75", '"high"'), "'high' is not a number"),
        (GOOD.replace('"step": 10', '"step": -1'), "expected an object with a step"),
        (GOOD.replace("Task000/Exp001", "Task001/Exp000"), "several task labels"),
        (GOOD.replace("test_stream", "valid_stream"), "it has evaluations of: valid"),
        (avalanche_json_line(1, {}), "no Top1_Acc_Exp"),
        (GOOD + avalanche_json_line(40, SEEN[2]), "cannot be told from iterations"),
        # Steps that count from 0: the first line may be an end, or the untrained learner.
        ("".join(avalanche_json_line(k, ALL[k]) for k in range(3)), "cannot be told from iterations"),
    ],
)
def test_spoiled_json_lines_are_refused_in_one_paragraph(read, text, message):
    with pytest.raises(UsageError, match=message) as refusal:
        read(text)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("file", ["logs.txt", "logs.json"])
def test_folders_of_seeds_are_one_learner(fixtures, tmp_path, file):
    for seed in (10, 2):
        (tmp_path / "er_2000" / str(seed)).mkdir(parents=True)
        copy = tmp_path / "er_2000" / str(seed) / file
        copy.write_bytes((fixtures / "avalanche" / "online" / file).read_bytes() + b"\n" * seed)
    (er,) = group(load_all([tmp_path / "er_2000" / "10" / file, tmp_path / "er_2000" / "2" / file]))
    assert (er.learner, er.seeds) == ("er_2000", (2, 10))
    assert any("taken for the seed" in note for note in er.runs[0].notes)
