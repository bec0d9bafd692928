"""Whether a structured answer fits the output schema that the door published for its tool."""

from __future__ import annotations

import importlib
import importlib.util
import re
from collections.abc import Mapping
from typing import Any

from .records import same

_TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "null": (type(None),),
}


def misfit(value: Any, schema: Mapping[str, Any]) -> str | None:
    """Why the value does not fit the schema; None when it does."""
    if importlib.util.find_spec("jsonschema") is None:
        return plain_misfit(value, schema)
    jsonschema = importlib.import_module("jsonschema")
    validator = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)(schema)
    wrong = next(iter(validator.iter_errors(value)), None)
    return None if wrong is None else f"{wrong.json_path}: {wrong.message}"


def plain_misfit(value: Any, schema: Mapping[str, Any], root: Mapping[str, Any] | None = None) -> str | None:
    """The same for the words of JSON Schema that occur in practice, without any package."""
    root = schema if root is None else root
    if "$ref" in schema:
        return plain_misfit(value, _referred(schema["$ref"], root), root)
    if (wrong := _misfit_of_type(value, schema)) is not None:
        return wrong
    if "const" in schema and not same(value, schema["const"]):
        return f"{value!r} is not {schema['const']!r}"
    if "enum" in schema and not any(same(value, one) for one in schema["enum"]):
        return f"{value!r} is none of {schema['enum']!r}"
    for word in ("anyOf", "oneOf"):
        if word in schema and all(plain_misfit(value, inner, root) for inner in schema[word]):
            return f"{value!r} fits nothing of {word}"
    for inner in schema.get("allOf", []):
        if (wrong := plain_misfit(value, inner, root)) is not None:
            return wrong
    return _misfit_inside(value, schema, root)


def _misfit_of_type(value: Any, schema: Mapping[str, Any]) -> str | None:
    named = schema.get("type")
    if named is None:
        return None
    names = [named] if isinstance(named, str) else named
    return None if any(_is_of(value, name) for name in names) else f"{value!r} is not of type {named}"


def _is_of(value: Any, name: str) -> bool:
    if name in ("number", "integer"):
        whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        return not isinstance(value, bool) and (whole or (name == "number" and isinstance(value, float)))
    return isinstance(value, _TYPES[name])


def _misfit_inside(value: Any, schema: Mapping[str, Any], root: Mapping[str, Any]) -> str | None:
    match value:
        case dict():
            return _misfit_of_object(value, schema, root)
        case list():
            if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
                return f"{len(value)} items"
            inner = schema.get("items", {})
            found = (plain_misfit(one, inner, root) for one in value) if isinstance(inner, dict) else iter(())
            return next((wrong for wrong in found if wrong), None)
        case str():
            if "pattern" in schema and not re.search(schema["pattern"], value):
                return f"{value!r} does not match {schema['pattern']!r}"
            fits = schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value))
            return None if fits else f"{len(value)} characters"
        case bool() | None:
            return None
        case int() | float():
            fits = schema.get("minimum", value) <= value <= schema.get("maximum", value)
            return None if fits else f"{value!r} is out of range"
        case _:
            return None


def _misfit_of_object(value: Mapping[str, Any], schema: Mapping[str, Any], root: Mapping[str, Any]) -> str | None:
    lacking = [name for name in schema.get("required", []) if name not in value]
    if lacking:
        return f"lacks {', '.join(lacking)}"
    known = schema.get("properties", {})
    more = schema.get("additionalProperties", True)
    for name, inner in value.items():
        if name in known:
            wrong = plain_misfit(inner, known[name], root)
        elif isinstance(more, dict):
            wrong = plain_misfit(inner, more, root)
        else:
            wrong = None if more else "not in the schema"
        if wrong is not None:
            return f"{name}: {wrong}"
    return None


def _referred(reference: str, root: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Any = root
    for name in reference.removeprefix("#/").split("/"):
        found = found[name.replace("~1", "/").replace("~0", "~")]
    return dict(found)
