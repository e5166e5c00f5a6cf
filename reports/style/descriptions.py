"""Settings for readers: calls, flat lists, and differences between several."""

from collections.abc import Mapping, Sequence

from bnnbench.engine.declare import names


def call(description: object) -> str:
    """Return a description as the expression that creates it, such as `Conv2d(32, kernel=3)`."""
    if isinstance(description, Mapping):
        fields = {name: call(item) for name, item in description.items() if name != "type"}
        arguments = ", ".join(f"{name}={text}" for name, text in fields.items())
        kind = class_name(description)
        return f"{kind}({arguments})" if kind else f"{{{arguments}}}"
    if isinstance(description, (list, tuple)):
        return f"({', '.join(call(item) for item in description)})"
    return str(description)


def class_name(description: object) -> str:
    """Return the class name of a described dataclass, or "" for anything else."""
    kind = description.get("type") if isinstance(description, Mapping) else None
    return names.class_name(str(kind)) if kind else ""


def flatten(description: object, name: str = "") -> dict[str, str]:
    """Return setting → value, with dotted names for nested settings."""
    if isinstance(description, Mapping):
        inner = {name: class_name(description)} if name and class_name(description) else {}
        for part, item in description.items():
            if part != "type":
                inner |= flatten(item, f"{name}.{part}" if name else str(part))
        return inner
    return {name: call(description)}


def differing(descriptions: Sequence[object]) -> list[str]:
    """Return, for each description, the settings in which it differs from the others."""
    flat = [{"type": class_name(d)} | flatten(d) for d in descriptions]
    names = sorted({name for settings in flat for name in settings})
    telling = [name for name in names if len({settings.get(name) for settings in flat}) > 1]
    return [
        ", ".join(
            settings[name] if name == "type" else f"{name}={settings.get(name, 'absent')}"
            for name in telling
        )
        for settings in flat
    ]
