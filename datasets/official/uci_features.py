"""Feature names of the ten regression sets, from their publishers' pages.

The files of `uci.py` have no headers; the columns' ranges agree with these names.
"""

from collections.abc import Mapping

FEATURES: Mapping[str, tuple[str, ...]] = {
    "boston": (
        *("CRIM", "ZN", "INDUS", "CHAS", "NOX", "RM", "AGE"),
        *("DIS", "RAD", "TAX", "PTRATIO", "B", "LSTAT"),
    ),
    "concrete": (
        *("cement", "blast furnace slag", "fly ash", "water", "superplasticizer"),
        *("coarse aggregate", "fine aggregate", "age"),
    ),
    "energy": (
        *("relative compactness", "surface area", "wall area", "roof area"),
        *("overall height", "orientation", "glazing area", "glazing area distribution"),
    ),
    "kin8nm": tuple(f"theta {joint}" for joint in range(1, 9)),
    "naval": (
        *("lever position", "ship speed", "gas turbine shaft torque"),
        *("gas turbine revolutions", "gas generator revolutions"),
        *("starboard propeller torque", "port propeller torque"),
        *("turbine exit temperature", "compressor inlet temperature"),
        *("compressor outlet temperature", "turbine exit pressure"),
        *("compressor inlet pressure", "compressor outlet pressure"),
        *("exhaust gas pressure", "turbine injection control", "fuel flow"),
    ),
    "power": ("temperature", "exhaust vacuum", "ambient pressure", "relative humidity"),
    "protein": (
        *("total surface area", "non-polar exposed area"),
        *("fraction of exposed non-polar residue", "fraction of its exposed non-polar part"),
        *("mass-weighted exposed area", "deviation from standard exposed area"),
        *("Euclidean distance", "secondary structure penalty", "spatial distribution"),
    ),
    "wine_red": (
        *("fixed acidity", "volatile acidity", "citric acid", "residual sugar", "chlorides"),
        *("free sulfur dioxide", "total sulfur dioxide", "density", "pH", "sulphates", "alcohol"),
    ),
    "yacht": (
        *("centre of buoyancy", "prismatic coefficient", "length-displacement ratio"),
        *("beam-draught ratio", "length-beam ratio", "Froude number"),
    ),
}
"""Data set → its feature names in the order of the file; year has none."""
