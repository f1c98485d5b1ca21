"""The stack machine that pickles are programs for, with the instructions that plain data needs, no others."""

from __future__ import annotations

import codecs
import struct
from collections.abc import Callable
from typing import Any

from recollect.runs.pickle_values import (
    Budget,
    Dtype,
    Name,
    Pending,
    Refused,
    admit,
    call,
    data_only,
    key,
    new,
    set_byte_order,
    set_items,
    short,
)

MAX_INSTRUCTIONS = 1_000_000

_MARK = object()
_CUT = "it ends in the middle; is it a whole pickle file?"
_UNDERFLOW = "its instructions take more than there is"


class Machine:
    """Runs the instructions in `data`; each reads its own argument."""

    def __init__(self, data: bytes, objects: bool = False) -> None:
        self.data = data
        self.at = 0
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}
        self.budget = Budget(objects)

    def run(self) -> Any:
        for _ in range(MAX_INSTRUCTIONS):
            instruction = self.take(1)
            if instruction == b".":
                return data_only(self.pop())
            action = _ACTIONS.get(instruction)
            if action is None:
                raise Refused(f"it holds the pickle instruction {instruction!r}, which plain data does not need")
            action(self)
        raise Refused(f"it has more than {MAX_INSTRUCTIONS:,} instructions")

    def take(self, count: int) -> bytes:
        end = self.at + count
        if count < 0 or end > len(self.data):
            raise Refused(_CUT)
        piece = self.data[self.at : end]
        self.at = end
        return piece

    def number(self, code: str) -> int:
        return int(struct.unpack(code, self.take(struct.calcsize(code)))[0])

    def line(self) -> bytes:
        end = self.data.find(b"\n", self.at)
        if end < 0:
            raise Refused(_CUT)
        piece = self.data[self.at : end]
        self.at = end + 1
        return piece.rstrip(b"\r")

    def text(self, piece: bytes, encoding: str) -> str:
        self.budget.spend(len(piece))
        try:
            return piece.decode(encoding, "surrogatepass" if encoding == "utf-8" else "strict")
        except UnicodeError:
            raise Refused("it holds a string that cannot be decoded") from None

    def push(self, value: Any) -> None:
        self.stack.append(value)

    def top(self) -> Any:
        if not self.stack or self.stack[-1] is _MARK:
            raise Refused(_UNDERFLOW)
        return self.stack[-1]

    def pop(self) -> Any:
        value = self.top()
        self.stack.pop()
        return value

    def drop(self) -> None:
        if not self.stack:
            raise Refused(_UNDERFLOW)
        self.stack.pop()

    def pop_mark(self) -> list[Any]:
        for back in range(len(self.stack) - 1, -1, -1):
            if self.stack[back] is _MARK:
                items = self.stack[back + 1 :]
                del self.stack[back:]
                return items
        raise Refused(_UNDERFLOW)

    def index(self) -> int:
        line = self.line()
        if not line.isdigit() or len(line) > 12:
            raise Refused("it refers to something it does not hold")
        return int(line)

    def remember(self, index: int) -> None:
        # A dictionary: a place far out costs one entry, not an array of that length.
        self.memo[index] = value = self.top()
        if isinstance(value, Pending):
            value.places.append(index)

    def recall(self, index: int) -> None:
        if index not in self.memo:
            raise Refused("it refers to something it does not hold")
        self.push(self.memo[index])

    def integer(self) -> None:
        text = self.line()
        if text in (b"00", b"01"):
            self.push(text == b"01")
            return
        try:
            self.push(int(text.rstrip(b"L")))
        except ValueError:
            raise Refused(f"it says {short(text)} where a whole number belongs") from None

    def real(self) -> None:
        text = self.line()
        try:
            self.push(float(text))
        except ValueError:
            raise Refused(f"it says {short(text)} where a number belongs") from None

    def quoted(self) -> None:
        """A string of Python 2, as its source text: quotes and escapes."""
        text = self.line()
        if len(text) < 2 or text[:1] != text[-1:] or text[:1] not in (b"'", b'"'):
            raise Refused("it holds a string without quotes")
        try:
            self.push(self.text(codecs.escape_decode(text[1:-1])[0], "latin-1"))
        except ValueError:
            raise Refused("it holds a string with a broken escape") from None

    def name(self) -> None:
        module, name = (self.text(self.line(), "latin-1") for _ in range(2))
        self.push(admit(module, name))

    def stack_name(self) -> None:
        name, module = self.pop(), self.pop()
        if not (isinstance(name, str) and isinstance(module, str)):
            raise Refused("it names something by what is not a string")
        self.push(admit(module, name))

    def call(self) -> None:
        arguments, name = self.pop(), self.pop()
        if not isinstance(name, Name) or not isinstance(arguments, tuple):
            raise Refused("it calls something that is not a type of data")
        self.push(call(name.name, arguments, self.budget))

    def new(self) -> None:
        arguments, name = self.pop(), self.pop()
        self.push(new(name, arguments))

    def build(self) -> None:
        state, target = self.pop(), self.top()
        if isinstance(target, Dtype):
            set_byte_order(target, state)
        elif isinstance(target, Pending):
            array = target.made(state, self.budget)
            self.stack[-1] = array
            for index in target.places:
                if self.memo[index] is target:
                    self.memo[index] = array
        else:
            raise Refused("it sets the inner state of something that is not an array")

    def last(self, count: int) -> None:
        items = [self.pop() for _ in range(count)]
        self.push(tuple(reversed(items)))

    def append(self, items: list[Any]) -> None:
        target = self.top()
        if not isinstance(target, list):
            raise Refused("it appends to something that is not a list")
        target.extend(data_only(item) for item in items)

    def add(self, items: list[Any]) -> None:
        target = self.top()
        if not isinstance(target, set):
            raise Refused("it adds members to something that is not a set")
        target.update(key(item) for item in items)

    def set_many(self, items: list[Any]) -> None:
        set_items(self.top(), items)

    def set_one(self) -> None:
        value, name = self.pop(), self.pop()
        self.set_many([name, value])

    def new_dictionary(self) -> None:
        items = self.pop_mark()
        self.push({})
        self.set_many(items)


def _signed(piece: bytes) -> int:
    return int.from_bytes(piece, "little", signed=True)


_ACTIONS: dict[bytes, Callable[[Machine], object]] = {
    # Protocol and frame, the stack.
    b"\x80": lambda m: m.take(1),
    b"\x95": lambda m: m.take(8),
    b"(": lambda m: m.push(_MARK),
    b"0": Machine.drop,
    b"1": Machine.pop_mark,
    b"2": lambda m: m.push(m.top()),
    # Constants and numbers.
    b"N": lambda m: m.push(None),
    b"\x88": lambda m: m.push(True),
    b"\x89": lambda m: m.push(False),
    b"I": Machine.integer,
    b"L": Machine.integer,
    b"F": Machine.real,
    b"J": lambda m: m.push(m.number("<i")),
    b"K": lambda m: m.push(m.number("<B")),
    b"M": lambda m: m.push(m.number("<H")),
    b"\x8a": lambda m: m.push(_signed(m.take(m.number("<B")))),
    b"\x8b": lambda m: m.push(_signed(m.take(m.number("<i")))),
    b"G": lambda m: m.push(struct.unpack(">d", m.take(8))[0]),
    # Strings of Python 2, then text, then bytes.
    b"S": Machine.quoted,
    b"T": lambda m: m.push(m.text(m.take(m.number("<i")), "latin-1")),
    b"U": lambda m: m.push(m.text(m.take(m.number("<B")), "latin-1")),
    b"V": lambda m: m.push(m.text(m.line(), "raw-unicode-escape")),
    b"X": lambda m: m.push(m.text(m.take(m.number("<I")), "utf-8")),
    b"\x8c": lambda m: m.push(m.text(m.take(m.number("<B")), "utf-8")),
    b"\x8d": lambda m: m.push(m.text(m.take(m.number("<Q")), "utf-8")),
    b"B": lambda m: m.push(m.take(m.number("<I"))),
    b"C": lambda m: m.push(m.take(m.number("<B"))),
    b"\x8e": lambda m: m.push(m.take(m.number("<Q"))),
    b"\x96": lambda m: m.push(m.take(m.number("<Q"))),
    # Containers.
    b"]": lambda m: m.push([]),
    b"}": lambda m: m.push({}),
    b")": lambda m: m.push(()),
    b"\x8f": lambda m: m.push(set()),
    b"l": lambda m: m.push([data_only(item) for item in m.pop_mark()]),
    b"t": lambda m: m.push(tuple(m.pop_mark())),
    b"\x85": lambda m: m.last(1),
    b"\x86": lambda m: m.last(2),
    b"\x87": lambda m: m.last(3),
    b"\x91": lambda m: m.push(frozenset(key(item) for item in m.pop_mark())),
    b"d": Machine.new_dictionary,
    b"a": lambda m: m.append([m.pop()]),
    b"e": lambda m: m.append(m.pop_mark()),
    b"s": Machine.set_one,
    b"u": lambda m: m.set_many(m.pop_mark()),
    b"\x90": lambda m: m.add(m.pop_mark()),
    # The memo.
    b"p": lambda m: m.remember(m.index()),
    b"q": lambda m: m.remember(m.number("<B")),
    b"r": lambda m: m.remember(m.number("<I")),
    b"\x94": lambda m: m.remember(len(m.memo)),
    b"g": lambda m: m.recall(m.index()),
    b"h": lambda m: m.recall(m.number("<B")),
    b"j": lambda m: m.recall(m.number("<I")),
    # Names, and what is made of them.
    b"c": Machine.name,
    b"\x93": Machine.stack_name,
    b"R": Machine.call,
    b"\x81": Machine.new,
    b"b": Machine.build,
}
