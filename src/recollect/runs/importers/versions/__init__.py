"""Evaluations of versions of a model: checkpoints, weekly releases, stages of fine-tuning.

Tools of this kind write one file per version (or per version and task) and never the matrix. Each module here turns its
files into `Evaluation`s; `assemble` puts them into one run per score: rows are versions in an order that is found and
said, columns are tasks. What is trained, held out or the base is told by names or by the user (see `runs.arrange`).
"""
