"""YAML from users: no aliases, no duplicate keys, limited in size, depth and number of values.

Ten lines of nested aliases expand to a billion values, and deep nesting overflows the stack.
"""

from pathlib import Path
from typing import Any

import yaml

from plate_nets.common.errors import InputError
from plate_nets.common.intake.files import MAX_DEPTH, MAX_VALUES, read_text

_TEXT = "tag:yaml.org,2002:str"
_NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")


def read_yaml(path: Path) -> Any:
    """A YAML file -> its values, with YAML's own types only.

    Raises:
        InputError: it does not open, is not YAML in UTF-8, has an alias or a duplicate key, or exceeds a limit; the
            message says where.
    """
    text = read_text(path)
    try:
        loader = _Loader(text)
        try:
            return loader.get_single_data()
        finally:
            loader.dispose()
    except yaml.YAMLError as error:
        where = getattr(error, "problem_mark", None)
        line = f", line {where.line + 1}" if where else ""
        what = getattr(error, "problem", None) or getattr(error, "reason", None) or "damaged"
        raise InputError(f"{path}{line}: expected YAML: {what}") from error
    except (ValueError, OverflowError) as error:  # an impossible date, a number of 5,000 digits
        raise InputError(f"{path}: expected YAML: {error}") from error


class _Loader(yaml.SafeLoader):
    """Refuses forbidden parts while it reads."""

    _depth = 0
    _values = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.AliasEvent):
            raise _refused("no aliases (*name)", event)
        self._depth += 1
        self._values += 1
        if self._depth > MAX_DEPTH:
            raise _refused(f"at most {MAX_DEPTH} levels", event)
        if self._values > MAX_VALUES:
            raise _refused(f"at most {MAX_VALUES} values", event)
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node

    def resolve(self, kind: type[yaml.Node], value: Any, implicit: Any) -> Any:
        tag = super().resolve(kind, value, implicit)  # type: ignore[no-untyped-call]
        # 16:9 is the number 969, to base 60, in YAML 1.1 alone
        return _TEXT if tag in _NUMBERS and ":" in value else tag

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    raise yaml.MarkedYAMLError(problem=f"duplicate key {key.value}", problem_mark=key.start_mark)
                seen.add(key.value)
        return super().construct_mapping(node, deep)


def _refused(expected: str, event: yaml.Event) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=f"{expected} are read", problem_mark=event.start_mark)  # type: ignore[arg-type]
