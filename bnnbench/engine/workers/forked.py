"""Facts that every worker would look up again, computed once in the process it is forked from."""

import torch

from bnnbench.engine.run.measuring.provenance import Code, provenance

provenance(torch.device("cpu"), None, Code())
