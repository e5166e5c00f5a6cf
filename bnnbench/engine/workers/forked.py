"""What every worker would look up again: imported by the process that they are forked from."""

import torch

from bnnbench.engine.run.measuring.provenance import Code, provenance

provenance(torch.device("cpu"), None, Code())
