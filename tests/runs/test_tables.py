"""Tables for pages."""

from recollect.runs import Row, Run, Task, to_latex, to_markdown

RUN = Run(
    learner="er_200 & co",
    stream="toy|x",
    seed=0,
    tasks=(Task("50%"), Task("b|c")),
    rows=(
        Row(-1, scores={"accuracy": (0.1, 0.2)}),
        Row(0, scores={"accuracy": (0.8, None)}),
        Row(1, scores={"accuracy": (0.6, 0.9)}),
    ),
)

MARKDOWN = r"""### er_200 \& co on toy\|x, seed 0

| after | 50% | b\|c |
| --- | ---: | ---: |
| untrained | 0.100 | 0.200 |
| 50% | 0.800 | – |
| b\|c | 0.600 | 0.900 |
"""

LATEX = r"""% er_200 & co on toy|x, seed 0
\begin{tabular}{lrr}
\toprule
after & 50\% & b|c \\
\midrule
untrained & 0.10 & 0.20 \\
50\% & 0.80 & -- \\
b|c & 0.60 & 0.90 \\
\bottomrule
\end{tabular}
"""


def test_markdown():
    assert to_markdown([RUN]) == MARKDOWN


def test_latex():
    assert to_latex([RUN], digits=2) == LATEX


def test_several_runs_follow_each_other():
    assert to_markdown([RUN, RUN]).count("###") == 2
    assert to_latex([RUN, RUN]).count(r"\begin") == 2


def test_a_name_cannot_leave_its_line():
    hostile = Run(
        learner="a\n\\input{x}", stream="s", tasks=(Task("\\x\n|"),), rows=(Row(0, scores={"accuracy": (1,)}),)
    )
    assert to_latex([hostile]).splitlines()[0].startswith("% a ")
    assert r"\textbackslash{}x\textbackslash{}n| \\" in to_latex([hostile])  # shown, not sent
    assert len(to_markdown([hostile]).splitlines()) == 5
