"""Networks over graphs, and how a learner of any kind is given what it may see of one."""
