"""Predictive distributions, and the names used for stored predictions."""

from collections.abc import Mapping

PREDICTIVES: Mapping[str, str] = {
    "categorical": "bnnbench.methods.predictions.predictive:CategoricalPredictive",
    "categorical_summary": "bnnbench.methods.predictions.predictive:CategoricalSummary",
    "gaussian": "bnnbench.methods.predictions.predictive:GaussianPredictive",
    "categorical_marginals": "bnnbench.methods.predictions.marginals:MarginalCategorical",
    "gaussian_marginals": "bnnbench.methods.predictions.marginals:MarginalGaussian",
    "student": "bnnbench.methods.predictions.student:StudentPredictive",
    "weighted_gaussian": "bnnbench.methods.predictions.weighted:WeightedGaussianPredictive",
    "log_normal": "bnnbench.methods.predictions.log_normal:LogNormalPredictive",
    "samples": "bnnbench.methods.predictions.samples:SamplePredictive",
    "quantiles": "bnnbench.methods.predictions.quantiles:QuantilePredictive",
    "real_summary": "bnnbench.methods.predictions.real_summary:RealSummary",
    "bars": "bnnbench.methods.predictions.bars:BarPredictive",
    "interval": "bnnbench.methods.predictions.sets:IntervalPredictive",
    "class_set": "bnnbench.methods.predictions.sets:SetPredictive",
    "affine_box": "bnnbench.methods.ciber.predictive:AffinePredictive",
    "rectified_box": "bnnbench.methods.ciber.predictive:RectifiedPredictive",
}
"""Name → "module:Class" of a `base.Predictive`. A class that is not listed is stored under its
"module:Class" path.
"""
